package loomlab.webflux;

import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.stereotype.Component;
import reactor.netty.http.server.HttpServer;

/** The way to Netty's server in Boot 4.x; the imports are all that differs. */
@Component
class NettyCustomizer implements NettyServerCustomizer {

    private final ServerOptions options;

    NettyCustomizer(ServerOptions options) {
        this.options = options;
    }

    @Override
    public HttpServer apply(HttpServer server) {
        return options.on(server);
    }
}
