package loomlab.webflux;

import java.time.Duration;

import loomlab.lab.Work;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** What needs no downstream: a busy event loop, and a timer. */
@RestController
class WorkController {

    @GetMapping("/cpu")
    Mono<String> cpu(@RequestParam(defaultValue = "1000") int n) {
        return Mono.fromSupplier(() -> Long.toHexString(Work.rounds(n)));
    }

    @GetMapping("/sleep")
    Mono<String> sleep(@RequestParam(defaultValue = "50") int ms) {
        return Mono.delay(Duration.ofMillis(ms)).thenReturn("ok");
    }
}
