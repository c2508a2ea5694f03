package loomlab.lab;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.stream.Collectors;

import org.springframework.boot.SpringBootVersion;
import org.springframework.core.SpringVersion;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/** The runtime that every app stands on. */
@Component
class RuntimeFacts implements Facts {

    private final Environment environment;

    RuntimeFacts(Environment environment) {
        this.environment = environment;
    }

    @Override
    public Map<String, String> facts() {
        int processors = Runtime.getRuntime().availableProcessors();
        String[] profiles = environment.getActiveProfiles();
        return Map.of(
                "boot", SpringBootVersion.getVersion(),
                "spring", String.valueOf(SpringVersion.getVersion()),
                "java", Runtime.version().toString(),
                "processors", String.valueOf(processors),
                "carriers", System.getProperty("jdk.virtualThreadScheduler.parallelism", String.valueOf(processors)),
                "max_heap_bytes", String.valueOf(Runtime.getRuntime().maxMemory()),
                "collectors", ManagementFactory.getGarbageCollectorMXBeans().stream()
                        .map(GarbageCollectorMXBean::getName).collect(Collectors.joining(", ")),
                "profile", profiles.length == 0 ? "default" : String.join(",", profiles));
    }
}
