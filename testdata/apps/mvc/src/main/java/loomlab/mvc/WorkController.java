package loomlab.mvc;

import loomlab.lab.Work;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** What needs no downstream: a busy processor, and a thread that waits. */
@RestController
class WorkController {

    @GetMapping("/cpu")
    String cpu(@RequestParam(defaultValue = "1000") int n) {
        return Long.toHexString(Work.rounds(n));
    }

    @GetMapping("/sleep")
    String sleep(@RequestParam(defaultValue = "50") int ms) throws InterruptedException {
        Thread.sleep(ms);
        return "ok";
    }
}
