package loomlab.mvc;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

@RestController
class CallController {

    private final RestClient downstream;

    CallController(RestClient downstream) {
        this.downstream = downstream;
    }

    @GetMapping("/hello")
    String hello() {
        return "hello";
    }

    @GetMapping("/call")
    String call() {
        return downstream.get().retrieve().body(String.class);
    }
}
