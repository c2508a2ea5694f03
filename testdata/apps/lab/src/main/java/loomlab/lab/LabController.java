package loomlab.lab;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** What the lab asks of an app outside the measured windows. */
@RestController
@RequestMapping("/lab")
class LabController {

    private final ExceptionCounts counts;
    private final List<Facts> facts;

    LabController(ExceptionCounts counts, List<Facts> facts) {
        this.counts = counts;
        this.facts = facts;
    }

    @GetMapping("/exceptions")
    Map<String, Long> exceptions() {
        return counts.snapshot();
    }

    @GetMapping("/info")
    Map<String, String> info() {
        Map<String, String> info = new TreeMap<>();
        facts.forEach(part -> info.putAll(part.facts()));
        return info;
    }
}
