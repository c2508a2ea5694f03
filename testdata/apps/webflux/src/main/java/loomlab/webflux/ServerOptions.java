package loomlab.webflux;

import io.netty.channel.ChannelOption;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.util.unit.DataSize;
import reactor.netty.http.server.HttpServer;

/** Netty's socket options that an experiment may set; what it leaves out stays as Netty has it. */
@ConfigurationProperties("lab.server")
record ServerOptions(Integer backlog, Boolean keepAlive, Boolean noDelay, DataSize receiveBuffer, DataSize sendBuffer) {

    HttpServer on(HttpServer server) {
        if (backlog != null) {
            server = server.option(ChannelOption.SO_BACKLOG, backlog);
        }
        server = onConnections(server, ChannelOption.SO_KEEPALIVE, keepAlive);
        server = onConnections(server, ChannelOption.TCP_NODELAY, noDelay);
        server = onConnections(server, ChannelOption.SO_RCVBUF, bytes(receiveBuffer));
        return onConnections(server, ChannelOption.SO_SNDBUF, bytes(sendBuffer));
    }

    private static <T> HttpServer onConnections(HttpServer server, ChannelOption<T> option, T value) {
        return value == null ? server : server.childOption(option, value);
    }

    private static Integer bytes(DataSize size) {
        return size == null ? null : Math.toIntExact(size.toBytes());
    }
}
