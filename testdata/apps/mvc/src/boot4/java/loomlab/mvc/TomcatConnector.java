package loomlab.mvc;

import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.stereotype.Component;

/** The way to Tomcat's connector in Boot 4.x; the imports are all that differs. */
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
