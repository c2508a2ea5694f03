package loomlab.mvc;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import org.springframework.core.task.AsyncTaskExecutor;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * A request that fans out to n tasks and waits for all of them. They run on the
 * application's executor, as {@code @Async} methods do: Boot's has 8 threads and an
 * endless queue, or a virtual thread for each task when those are enabled.
 */
@RestController
@RequestMapping("/async")
class AsyncController {

    private final AsyncTaskExecutor executor;
    private final DelayClient delays;

    AsyncController(AsyncTaskExecutor executor, DelayClient delays) {
        this.executor = executor;
        this.delays = delays;
    }

    @GetMapping
    String calls(@RequestParam(defaultValue = "100") int n) {
        return fanOut(n, () -> delays.after(100));
    }

    @GetMapping("/sleep")
    String sleeps(@RequestParam(defaultValue = "100") int n) {
        return fanOut(n, () -> {
            Thread.sleep(100);
            return "ok";
        });
    }

    private String fanOut(int n, Callable<String> task) {
        List<CompletableFuture<String>> answers = Stream.generate(() -> executor.submitCompletable(task)).limit(n).toList();
        answers.forEach(CompletableFuture::join);
        return String.valueOf(answers.size());
    }
}
