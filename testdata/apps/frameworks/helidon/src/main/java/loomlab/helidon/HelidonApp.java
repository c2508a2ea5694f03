package loomlab.helidon;

import java.util.Map;

import io.helidon.common.Version;
import io.helidon.http.HeaderNames;
import io.helidon.http.Status;
import io.helidon.webclient.api.WebClient;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.HttpRouting;
import loomlab.frameworks.Lab;

/** Helidon SE: every request on a virtual thread of its own, from the accept on. */
public final class HelidonApp {

    /** The client keeps 256 idle connections and closes those beyond, by default; the lab's load needs more. */
    private static final int CONNECTIONS = 20_000;

    private HelidonApp() {
    }

    public static void main(String[] args) {
        Lab.settings(args);
        WebClient downstream = WebClient.builder()
                .baseUri(Lab.downstream())
                .shareConnectionCache(false)
                .connectionCacheSize(CONNECTIONS)
                .build();
        WebServer.builder()
                .host("127.0.0.1")
                .port(Lab.port())
                .routing(routing -> route(routing, downstream))
                .build()
                .start();
    }

    private static void route(HttpRouting.Builder routing, WebClient downstream) {
        routing.get("/hello", (request, response) -> response.send("hello"))
                .get("/call", (request, response) -> response.send(downstream.get().requestEntity(String.class)))
                .get("/lab/info", (request, response) -> response
                        .header(HeaderNames.CONTENT_TYPE, "application/json")
                        .send(Lab.info(Map.of(
                                "server", "Helidon/" + Version.VERSION,
                                "server_virtual", String.valueOf(Thread.currentThread().isVirtual()),
                                "client_factory", downstream.getClass().getSimpleName(),
                                "client_http_version", "HTTP_1_1",
                                "client_pool", CONNECTIONS + " idle"))))
                .get("/lab/exceptions", (request, response) -> response
                        .header(HeaderNames.CONTENT_TYPE, "application/json")
                        .send(Lab.exceptions()))
                .error(Exception.class, (request, response, failure) -> {
                    Lab.caught(failure);
                    response.status(Status.INTERNAL_SERVER_ERROR_500).send(failure.getClass().getSimpleName());
                });
    }
}
