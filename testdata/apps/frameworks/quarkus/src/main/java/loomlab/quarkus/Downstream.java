package loomlab.quarkus;

import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import org.eclipse.microprofile.rest.client.inject.RegisterRestClient;

/** The downstream, in both ways of waiting for it. */
@Path("/")
@RegisterRestClient(configKey = "downstream")
public interface Downstream {

    @GET
    Uni<String> later();

    @GET
    String now();
}
