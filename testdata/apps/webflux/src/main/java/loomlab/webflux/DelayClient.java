package loomlab.webflux;

import org.springframework.stereotype.Component;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

/** Asks the downstream to answer after a delay of our choice. */
@Component
public class DelayClient {

    private final WebClient downstream;

    DelayClient(WebClient downstream) {
        this.downstream = downstream;
    }

    public Mono<String> after(int ms) {
        return downstream.get().uri("/delay/{ms}", ms).retrieve().bodyToMono(String.class);
    }
}
