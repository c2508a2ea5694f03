package loomlab.frameworks;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Pattern;

/** What the apps share: their settings, and what they tell the lab at /lab/info and /lab/exceptions. */
public final class Lab {

    private static final int MAX_KINDS = 50;
    private static final int MAX_MESSAGE = 200;

    /** Ports and ids differ from request to request: they would make every exception a kind. */
    private static final Pattern PORT = Pattern.compile(":\\d{1,5}\\b");
    private static final Pattern ID = Pattern.compile("\\b0x[0-9a-fA-F]+");

    private static final Map<String, LongAdder> COUNTS = new ConcurrentHashMap<>();

    private Lab() {
    }

    /** Makes system properties of arguments such as --server.port=8080, as Spring Boot does of its own. */
    public static void settings(String[] args) {
        for (String arg : args) {
            int equals = arg.indexOf('=');
            if (arg.startsWith("--") && equals > 2) {
                System.setProperty(arg.substring(2, equals), arg.substring(equals + 1));
            }
        }
    }

    public static int port() {
        return Integer.getInteger("server.port", 8080);
    }

    public static String downstream() {
        return System.getProperty("lab.downstream", "http://127.0.0.1:8081");
    }

    /** Counts what a handler failed with. Nothing is logged: thousands of stack traces would become the thing that is measured. */
    public static void caught(Throwable failure) {
        Throwable root = failure;
        for (int depth = 0; root.getCause() != null && depth < 20; depth++) {
            root = root.getCause();
        }
        String kind = root == failure ? name(root) : name(failure) + " <- " + name(root);
        if (root.getMessage() != null) {
            String message = ID.matcher(PORT.matcher(root.getMessage()).replaceAll(":*")).replaceAll("0x*");
            kind += ": " + message.substring(0, Math.min(message.length(), MAX_MESSAGE));
        }
        if (COUNTS.size() >= MAX_KINDS && !COUNTS.containsKey(kind)) {
            kind = "other";
        }
        COUNTS.computeIfAbsent(kind, k -> new LongAdder()).increment();
    }

    /** The body of /lab/exceptions. */
    public static String exceptions() {
        Map<String, String> counts = new TreeMap<>();
        COUNTS.forEach((kind, count) -> counts.put(kind, String.valueOf(count.sum())));
        return json(counts, "");
    }

    /** The body of /lab/info: an app's own facts, and those of the runtime. */
    public static String info(Map<String, String> own) {
        int processors = Runtime.getRuntime().availableProcessors();
        Map<String, String> info = new TreeMap<>(own);
        info.put("java", Runtime.version().toString());
        info.put("processors", String.valueOf(processors));
        info.put("carriers", System.getProperty("jdk.virtualThreadScheduler.parallelism", String.valueOf(processors)));
        info.put("max_heap_bytes", String.valueOf(Runtime.getRuntime().maxMemory()));
        return json(info, "\"");
    }

    private static String name(Throwable t) {
        String simple = t.getClass().getSimpleName();
        return simple.isEmpty() ? t.getClass().getName() : simple;
    }

    private static String json(Map<String, String> values, String quote) {
        StringBuilder out = new StringBuilder("{");
        values.forEach((key, value) -> {
            if (out.length() > 1) {
                out.append(',');
            }
            out.append('"').append(escape(key)).append("\":").append(quote).append(escape(value)).append(quote);
        });
        return out.append('}').toString();
    }

    private static String escape(String text) {
        StringBuilder out = new StringBuilder();
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }
}
