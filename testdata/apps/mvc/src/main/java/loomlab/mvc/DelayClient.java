package loomlab.mvc;

import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClient;

/** Asks the downstream to answer after a delay of our choice. */
@Component
public class DelayClient {

    private final RestClient downstream;

    DelayClient(RestClient downstream) {
        this.downstream = downstream;
    }

    public String after(int ms) {
        return downstream.get().uri("/delay/{ms}", ms).retrieve().body(String.class);
    }
}
