import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A load engine as many write it: the JDK's HttpClient, and a virtual thread per
 * connection that sends, waits for the answer, and sends again. It needs JDK 21 and no build:
 *
 * <pre>java LoadClient.java URL CONNECTIONS SECONDS [TIMEOUT_SECONDS]</pre>
 *
 * It has what such engines have. All threads start at once, on an empty pipeline and
 * cold connections. Each sends until SECONDS are over; the answer that it then still
 * waits for is the drain. throughput_per_s divides all answers, those of the drain
 * too, by SECONDS, and latency_ms covers them all (counting: with-drain). How many fell into the drain
 * stands beside it, as requests.drained, so that both figures can be had. A request
 * that fails has no latency; its thread waits 10 ms and goes on.
 *
 * It prints one JSON object, with keys of `loomlab load --json`. Before it, on Linux,
 * come two lines of JSON with when the window opened and closed.
 */
public class LoadClient {

    private static final long PAUSE_AFTER_ERROR_MS = 10;

    /** What one thread saw. The arrays of all threads are merged, so percentiles are exact. */
    private static final class Tally {
        long sent, ok, non2xx, drainedOk, drainedNon2xx, drainedErrors;
        long timeouts, resets, eofs, others;
        long[] nanos = new long[1024];
        int answers;

        void answered(int status, long took, boolean late) {
            boolean good = status >= 200 && status < 300;
            if (late && good) {
                drainedOk++;
            } else if (late) {
                drainedNon2xx++;
            } else if (good) {
                ok++;
            } else {
                non2xx++;
            }
            if (good) {
                if (answers == nanos.length) {
                    nanos = Arrays.copyOf(nanos, 2 * answers);
                }
                nanos[answers++] = took;
            }
        }

        void failed(IOException failure, boolean late) {
            String message = String.valueOf(failure.getMessage());
            if (late) {
                drainedErrors++;
            } else if (failure instanceof HttpTimeoutException) {
                timeouts++;
            } else if (message.contains("reset")) {
                resets++;
            } else if (message.contains("EOF") || message.contains("received no bytes")) {
                eofs++;
            } else {
                others++;
            }
        }

        void add(Tally other) {
            sent += other.sent;
            ok += other.ok;
            non2xx += other.non2xx;
            drainedOk += other.drainedOk;
            drainedNon2xx += other.drainedNon2xx;
            drainedErrors += other.drainedErrors;
            timeouts += other.timeouts;
            resets += other.resets;
            eofs += other.eofs;
            others += other.others;
        }
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        try {
            if (args.length < 3 || args.length > 4) {
                throw new IllegalArgumentException("want URL CONNECTIONS SECONDS [TIMEOUT_SECONDS]");
            }
            double timeout = args.length > 3 ? Double.parseDouble(args[3]) : 10;
            load(URI.create(args[0]), Integer.parseInt(args[1]), Double.parseDouble(args[2]), timeout);
        } catch (IllegalArgumentException mistake) {
            System.err.println("LoadClient: " + mistake.getMessage());
            System.exit(2);
        }
    }

    private static void load(URI url, int connections, double seconds, double timeout)
            throws InterruptedException, ExecutionException {
        HttpRequest request = HttpRequest.newBuilder(url).timeout(nanos(timeout)).build();
        List<Tally> tallies = new ArrayList<>();
        double drain;
        try (var threads = Executors.newVirtualThreadPerTaskExecutor();
                HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                        .executor(threads).connectTimeout(nanos(timeout)).build()) {
            long start = System.nanoTime();
            long end = start + nanos(seconds).toNanos();
            Callable<Tally> loop = () -> loop(client, request, end);
            List<Future<Tally>> loops = new ArrayList<>();
            for (int i = 0; i < connections; i++) {
                loops.add(threads.submit(loop));
            }
            event("open", start);
            TimeUnit.NANOSECONDS.sleep(end - System.nanoTime());
            event("closed", end);
            for (Future<Tally> each : loops) {
                tallies.add(each.get());
            }
            drain = (System.nanoTime() - end) / 1e9;
        }
        System.out.println(result(url, seconds, drain, tallies));
    }

    /** Says when the window is, on the clock that all processes of a Linux host share; elsewhere Java's is its own. */
    private static void event(String state, long nanoTime) {
        if (System.getProperty("os.name").equals("Linux")) {
            System.out.printf(Locale.ROOT, "{\"event\": \"window\", \"state\": \"%s\", \"at\": %.9f}%n", state, nanoTime / 1e9);
        }
    }

    private static Duration nanos(double seconds) {
        return Duration.ofNanos(Math.round(seconds * 1e9));
    }

    /** One closed loop: a request in flight at a time, until the window's end. */
    private static Tally loop(HttpClient client, HttpRequest request, long end) throws InterruptedException {
        Tally tally = new Tally();
        for (long began = System.nanoTime(); began - end < 0; began = System.nanoTime()) {
            tally.sent++;
            try {
                int status = client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
                long now = System.nanoTime();
                tally.answered(status, now - began, now - end >= 0);
            } catch (IOException failure) {
                tally.failed(failure, System.nanoTime() - end >= 0);
                Thread.sleep(PAUSE_AFTER_ERROR_MS);
            }
        }
        return tally;
    }

    private static String result(URI url, double seconds, double drain, List<Tally> tallies) {
        Tally all = new Tally();
        tallies.forEach(all::add);
        long[] sorted = tallies.stream().flatMapToLong(t -> Arrays.stream(t.nanos, 0, t.answers)).sorted().toArray();
        long drained = all.drainedOk + all.drainedNon2xx + all.drainedErrors;
        return String.format(Locale.ROOT, """
                {"schema": 1, "target": "%s", "mode": "closed", "counting": "with-drain", "seconds": %s, "drain_seconds": %.3f, \
                "requests": {"carried_in": 0, "sent": %d, "ok": %d, "non_2xx": %d, \
                "errors": {"timeout": %d, "reset": %d, "eof": %d, "protocol": 0, "other": %d}, "in_flight": %d, \
                "drained": {"ok": %d, "non_2xx": %d, "errors": %d, "abandoned": 0}}, \
                "throughput_per_s": %.3f, "latency_ms": %s, \
                "warnings": ["throughput_per_s and latency_ms cover the %d answers that came after the window too"]}""",
                url, seconds, drain,
                all.sent, all.ok, all.non2xx,
                all.timeouts, all.resets, all.eofs, all.others, drained,
                all.drainedOk, all.drainedNon2xx, all.drainedErrors,
                (all.ok + all.drainedOk) / seconds, latency(sorted),
                all.drainedOk);
    }

    private static String latency(long[] sorted) {
        if (sorted.length == 0) {
            return "null";
        }
        double mean = Arrays.stream(sorted).average().orElseThrow();
        double variance = Arrays.stream(sorted).mapToDouble(n -> (n - mean) * (n - mean)).average().orElseThrow();
        return String.format(Locale.ROOT, """
                {"min": %.3f, "mean": %.3f, "stddev": %.3f, "p50": %.3f, "p75": %.3f, "p90": %.3f, "p95": %.3f, \
                "p99": %.3f, "p999": %.3f, "max": %.3f}""",
                sorted[0] / 1e6, mean / 1e6, Math.sqrt(variance) / 1e6,
                percentile(sorted, 50), percentile(sorted, 75), percentile(sorted, 90), percentile(sorted, 95),
                percentile(sorted, 99), percentile(sorted, 99.9), sorted[sorted.length - 1] / 1e6);
    }

    /** The latency in ms that p percent of the requests did not exceed. */
    private static double percentile(long[] sorted, double p) {
        int rank = (int) Math.ceil(sorted.length * p / 100);
        return sorted[Math.max(0, rank - 1)] / 1e6;
    }
}
