package loomlab.mvc;

import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.springframework.boot.web.embedded.tomcat.TomcatWebServer;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.stereotype.Component;

/** The way to Tomcat's connector in Boot 3.x; the imports are all that differs. */
@Component
class TomcatConnector {

    private final ServletWebServerApplicationContext context;

    TomcatConnector(ServletWebServerApplicationContext context) {
        this.context = context;
    }

    AbstractHttp11Protocol<?> protocol() {
        TomcatWebServer server = (TomcatWebServer) context.getWebServer();
        return (AbstractHttp11Protocol<?>) server.getTomcat().getConnector().getProtocolHandler();
    }
}
