import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;

/** Keeps 8 MB alive and allocates until enough collections have run; with 0, only until it ends. */
public class Allocate {
    static byte[][] live = new byte[128][];

    public static void main(String[] args) throws Exception {
        long wanted = Long.parseLong(args[0]);
        for (int i = 0; i < 20 || collections() < wanted; i++) {
            live[i % live.length] = new byte[64 << 10];
            if (wanted > 0 && i % 64 == 0) {
                Thread.sleep(1);
            }
        }
        // What the JVM itself says remained after the last collection of each pool, to compare with the file.
        for (MemoryPoolMXBean p : ManagementFactory.getMemoryPoolMXBeans()) {
            if (p.getCollectionUsage() != null) {
                System.out.println(p.getName() + " " + p.getCollectionUsage().getUsed());
            }
        }
        if (args.length > 1) {
            Thread.sleep(Long.parseLong(args[1]));
        }
    }

    static long collections() {
        long n = 0;
        for (GarbageCollectorMXBean b : ManagementFactory.getGarbageCollectorMXBeans()) {
            n += Math.max(0, b.getCollectionCount());
        }
        return n;
    }
}
