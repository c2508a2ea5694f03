package loomlab.webflux;

import java.time.Duration;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A request that fans out to n tasks, all at once, and waits for all of them. */
@RestController
@RequestMapping("/async")
class AsyncController {

    private final DelayClient delays;

    AsyncController(DelayClient delays) {
        this.delays = delays;
    }

    @GetMapping
    Mono<String> calls(@RequestParam(defaultValue = "100") int n) {
        return fanOut(n, delays.after(100));
    }

    @GetMapping("/sleep")
    Mono<String> sleeps(@RequestParam(defaultValue = "100") int n) {
        return fanOut(n, Mono.delay(Duration.ofMillis(100)).thenReturn("ok"));
    }

    private static Mono<String> fanOut(int n, Mono<String> task) {
        return Flux.range(0, n).flatMap(i -> task, n).count().map(String::valueOf);
    }
}
