package loomlab.mvc;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * Waits with a lock in hand. Before JDK 24 a virtual thread that waits inside
 * {@code synchronized} holds on to its carrier thread; one that waits with a
 * {@link ReentrantLock} does not. Every request has a lock of its own: one for all
 * would be what is measured.
 */
@RestController
@RequestMapping("/pinned")
class PinnedController {

    private final DelayClient delays;

    /** Makes the newest monitor known to all: the JIT leaves out one that only its own thread can reach. */
    private volatile Object monitor;

    PinnedController(DelayClient delays) {
        this.delays = delays;
    }

    @GetMapping
    String inSynchronized(@RequestParam(defaultValue = "100") int ms) throws InterruptedException {
        synchronized (newMonitor()) {
            Thread.sleep(ms);
        }
        return "ok";
    }

    /** The JDK client needs carriers for its own virtual threads: when all are pinned here, nobody brings the answers. */
    @GetMapping("/call")
    String callInSynchronized(@RequestParam(defaultValue = "100") int ms) {
        synchronized (newMonitor()) {
            return delays.after(ms);
        }
    }

    @GetMapping("/lock")
    String withLock(@RequestParam(defaultValue = "100") int ms) throws InterruptedException {
        Lock lock = new ReentrantLock();
        lock.lock();
        try {
            Thread.sleep(ms);
        } finally {
            lock.unlock();
        }
        return "ok";
    }

    private Object newMonitor() {
        Object fresh = new Object();
        monitor = fresh;
        return fresh;
    }
}
