package loomlab.mvc;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

/** One call of the downstream: after its own delay, and after 100 ms. */
@RestController
class CallController {

    private final RestClient downstream;
    private final DelayClient delays;

    CallController(RestClient downstream, DelayClient delays) {
        this.downstream = downstream;
        this.delays = delays;
    }

    @GetMapping("/call")
    String call() {
        return downstream.get().retrieve().body(String.class);
    }

    @GetMapping("/io-test")
    String ioTest() {
        return delays.after(100);
    }
}
