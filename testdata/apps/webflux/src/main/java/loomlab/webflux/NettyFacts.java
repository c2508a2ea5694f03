package loomlab.webflux;

import java.util.Map;
import java.util.stream.StreamSupport;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.Version;
import loomlab.lab.Facts;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.client.ReactorResourceFactory;
import org.springframework.http.client.reactive.ClientHttpConnector;
import org.springframework.stereotype.Component;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.LoopResources;

/** Netty's loops, which server and client share, and the client's pool, as they are in force. */
@Component
class NettyFacts implements Facts {

    private final LoopResources loops;
    private final ClientHttpConnector connector;
    private final ConnectionProvider pool;
    private final int pending;

    NettyFacts(ReactorResourceFactory resources, ClientHttpConnector connector, ConnectionProvider pool,
            @Value("${lab.client.pending}") int pending) {
        this.loops = resources.getLoopResources();
        this.connector = connector;
        this.pool = pool;
        this.pending = pending;
    }

    @Override
    public Map<String, String> facts() {
        EventLoopGroup group = loops.onServer(LoopResources.DEFAULT_NATIVE);
        long count = StreamSupport.stream(group.spliterator(), false).count();
        return Map.of(
                "server", "Netty/" + Version.identify().get("netty-common").artifactVersion(),
                "netty_loops", String.valueOf(count),
                "netty_transport", loops.onChannelClass(SocketChannel.class, group).getSimpleName(),
                "netty_allocator", ByteBufAllocator.DEFAULT.getClass().getSimpleName(),
                "client_factory", connector.getClass().getSimpleName(),
                "client_http_version", "HTTP_1_1",
                "client_pool", String.valueOf(pool.maxConnections()),
                "client_pending", pending < 0 ? "unlimited" : String.valueOf(pending));
    }
}
