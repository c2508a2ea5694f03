package loomlab.lab;

/** Work that needs a processor and nothing else, the same for every app. */
public final class Work {

    private static final int STEPS_OF_A_ROUND = 1_000;

    private Work() {
    }

    /**
     * Does n rounds of a thousand steps, about 2 µs each. Every step needs the one
     * before it, and the answer all of them, so the JIT can leave none out.
     */
    public static long rounds(int n) {
        long x = 0x9E3779B97F4A7C15L;
        for (int round = 0; round < n; round++) {
            for (int step = 0; step < STEPS_OF_A_ROUND; step++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
            }
        }
        return x;
    }
}
