import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/**
 * A downstream as many write it: the JDK's own HTTP server, a virtual thread per
 * request, and a sleep. It needs JDK 21 and no build:
 *
 * <pre>java [-Dsun.net.httpserver.nodelay=false] DelayServer.java [PORT] [DELAY_MS]</pre>
 *
 * The JDK closes what is idle beyond 200 connections and leaves Nagle's algorithm
 * on, which before JDK 24 costs 40 ms of delayed ACK on Linux, as head and body go
 * separately. Both are measured by experiments of their own, so here they are out of
 * the way, unless the command line sets the properties itself: nodelay=false is the JDK as it comes.
 */
public class DelayServer {
    public static void main(String[] args) throws IOException {
        int port = args.length > 0 ? Integer.parseInt(args[0]) : 8081;
        long delay = args.length > 1 ? Long.parseLong(args[1]) : 100;
        setDefault("sun.net.httpserver.maxIdleConnections", "1000000");
        setDefault("sun.net.httpserver.nodelay", "true");

        byte[] body = "ok".getBytes(StandardCharsets.US_ASCII);
        var address = new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port);
        HttpServer server = HttpServer.create(address, 65535);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", exchange -> {
            try (exchange) {
                exchange.getRequestBody().readAllBytes();
                Thread.sleep(delay);
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        server.start();
        System.out.println("listening on http://127.0.0.1:" + server.getAddress().getPort());
    }

    private static void setDefault(String property, String value) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, value);
        }
    }
}
