package loomlab.jdkhttp;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import loomlab.frameworks.Lab;

/** Nothing but the JDK: its HTTP server and client, both on virtual threads. */
public final class JdkHttpApp {

    private JdkHttpApp() {
    }

    /** What answers a request; what it throws becomes a 500. */
    private interface Handler {
        String answer() throws Exception;
    }

    public static void main(String[] args) throws IOException {
        Lab.settings(args);
        // By default the server closes what is idle beyond 200 connections, and leaves Nagle's
        // algorithm on; both have experiments of their own.
        setDefault("sun.net.httpserver.maxIdleConnections", "1000000");
        setDefault("sun.net.httpserver.nodelay", "true");

        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        HttpClient client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofSeconds(5))
                .executor(threads)
                .build();
        HttpRequest call = HttpRequest.newBuilder(URI.create(Lab.downstream())).build();

        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), Lab.port()), 1024);
        server.setExecutor(threads);
        handle(server, "/hello", "text/plain", () -> "hello");
        handle(server, "/call", "text/plain", () -> client.send(call, BodyHandlers.ofString()).body());
        handle(server, "/lab/exceptions", "application/json", Lab::exceptions);
        handle(server, "/lab/info", "application/json", () -> Lab.info(Map.of(
                "server", "JDK HttpServer",
                "server_virtual", String.valueOf(Thread.currentThread().isVirtual()),
                "client_factory", "HttpClient",
                "client_http_version", client.version().name(),
                "client_executor", "virtual threads")));
        server.start();
    }

    private static void handle(HttpServer server, String path, String type, Handler handler) {
        server.createContext(path, exchange -> {
            try (exchange) {
                exchange.getRequestBody().readAllBytes();
                int status = 200;
                String body;
                try {
                    body = handler.answer();
                } catch (Exception failure) {
                    Lab.caught(failure);
                    status = 500;
                    body = failure.getClass().getSimpleName();
                }
                answer(exchange, status, type, body);
            }
        });
    }

    private static void answer(HttpExchange exchange, int status, String type, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    private static void setDefault(String property, String value) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, value);
        }
    }
}
