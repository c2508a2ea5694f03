package loomlab.quarkus;

import java.util.Map;

import io.smallrye.common.annotation.NonBlocking;
import io.smallrye.common.annotation.RunOnVirtualThread;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import loomlab.frameworks.Lab;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.eclipse.microprofile.rest.client.inject.RestClient;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

@Path("/")
public class CallResource {

    @RestClient
    Downstream downstream;

    @ConfigProperty(name = "quarkus.rest-client.downstream.connection-pool-size")
    String pool;

    @GET
    @Path("hello")
    @NonBlocking
    @Produces(MediaType.TEXT_PLAIN)
    public String hello() {
        return "hello";
    }

    /** On an event loop, which goes on while the answer is awaited. */
    @GET
    @Path("call")
    @Produces(MediaType.TEXT_PLAIN)
    public Uni<String> call() {
        return downstream.later();
    }

    /** On a virtual thread of its own, which blocks. */
    @GET
    @Path("call/virtual")
    @RunOnVirtualThread
    @Produces(MediaType.TEXT_PLAIN)
    public String callVirtual() {
        return downstream.now();
    }

    @GET
    @Path("lab/exceptions")
    @NonBlocking
    @Produces(MediaType.APPLICATION_JSON)
    public String exceptions() {
        return Lab.exceptions();
    }

    @GET
    @Path("lab/info")
    @NonBlocking
    @Produces(MediaType.APPLICATION_JSON)
    public String info() {
        return Lab.info(Map.of(
                "server", "Quarkus REST",
                "client_factory", "Quarkus REST client",
                "client_http_version", "HTTP_1_1",
                "client_pool", pool));
    }

    @ServerExceptionMapper
    public Response failed(Throwable failure) {
        if (failure instanceof WebApplicationException known && known.getResponse().getStatus() < 500) {
            return known.getResponse();
        }
        Lab.caught(failure);
        return Response.serverError().entity(failure.getClass().getSimpleName()).type(MediaType.TEXT_PLAIN).build();
    }
}
