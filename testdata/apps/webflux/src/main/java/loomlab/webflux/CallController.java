package loomlab.webflux;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

@RestController
class CallController {

    private final WebClient downstream;

    CallController(WebClient downstream) {
        this.downstream = downstream;
    }

    @GetMapping("/hello")
    Mono<String> hello() {
        return Mono.just("hello");
    }

    @GetMapping("/call")
    Mono<String> call() {
        return downstream.get().retrieve().bodyToMono(String.class);
    }
}
