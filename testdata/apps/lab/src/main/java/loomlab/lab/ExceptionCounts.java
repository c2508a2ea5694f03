package loomlab.lab;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Pattern;

import org.springframework.stereotype.Component;

/**
 * Counts the exceptions of the handlers by kind, such as
 * {@code WebClientRequestException <- SocketException: Connection reset}.
 */
@Component
public class ExceptionCounts {

    private static final int MAX_KINDS = 50;
    private static final int MAX_MESSAGE = 200;

    /** Ports and channel ids differ from request to request: they would make every exception a kind. */
    private static final Pattern PORT = Pattern.compile(":\\d{1,5}\\b");
    private static final Pattern ID = Pattern.compile("\\b0x[0-9a-fA-F]+");

    private final Map<String, LongAdder> counts = new ConcurrentHashMap<>();

    void add(Throwable failure) {
        String kind = kindOf(failure);
        if (counts.size() >= MAX_KINDS && !counts.containsKey(kind)) {
            kind = "other";
        }
        counts.computeIfAbsent(kind, k -> new LongAdder()).increment();
    }

    Map<String, Long> snapshot() {
        Map<String, Long> result = new TreeMap<>();
        counts.forEach((kind, count) -> result.put(kind, count.sum()));
        return result;
    }

    static String kindOf(Throwable failure) {
        Throwable root = failure;
        for (int depth = 0; root.getCause() != null && depth < 20; depth++) {
            root = root.getCause();
        }
        String kind = root == failure ? name(root) : name(failure) + " <- " + name(root);
        return root.getMessage() == null ? kind : kind + ": " + mask(root.getMessage());
    }

    private static String name(Throwable t) {
        String simple = t.getClass().getSimpleName();
        return simple.isEmpty() ? t.getClass().getName() : simple;
    }

    private static String mask(String message) {
        String masked = ID.matcher(PORT.matcher(message).replaceAll(":*")).replaceAll("0x*");
        return masked.length() <= MAX_MESSAGE ? masked : masked.substring(0, MAX_MESSAGE);
    }
}
