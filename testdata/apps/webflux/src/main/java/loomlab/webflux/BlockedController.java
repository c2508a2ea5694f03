package loomlab.webflux;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The classic mistake, blocking an event loop and all the connections that it serves, and its remedy. */
@RestController
@RequestMapping("/blocked")
class BlockedController {

    @GetMapping
    Mono<String> onEventLoop(@RequestParam(defaultValue = "100") int ms) {
        return blocking(ms);
    }

    /** Ten threads a processor, unless reactor.schedulers.defaultBoundedElasticSize says otherwise. */
    @GetMapping("/elastic")
    Mono<String> onBoundedElastic(@RequestParam(defaultValue = "100") int ms) {
        return blocking(ms).subscribeOn(Schedulers.boundedElastic());
    }

    private static Mono<String> blocking(int ms) {
        return Mono.fromCallable(() -> {
            Thread.sleep(ms);
            return "ok";
        });
    }
}
