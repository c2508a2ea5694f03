package loomlab.webflux;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

/** One call of the downstream: after its own delay, and after 100 ms. */
@RestController
class CallController {

    private final WebClient downstream;
    private final DelayClient delays;

    CallController(WebClient downstream, DelayClient delays) {
        this.downstream = downstream;
        this.delays = delays;
    }

    @GetMapping("/call")
    Mono<String> call() {
        return downstream.get().retrieve().bodyToMono(String.class);
    }

    @GetMapping("/io-test")
    Mono<String> ioTest() {
        return delays.after(100);
    }
}
