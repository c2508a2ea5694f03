import java.nio.ByteBuffer;

/** Holds 8 MB of direct buffers and waits to be asked by jcmd. */
public class Direct {
    public static void main(String[] args) throws InterruptedException {
        ByteBuffer[] held = new ByteBuffer[8];
        for (int i = 0; i < held.length; i++) {
            held[i] = ByteBuffer.allocateDirect(1 << 20);
        }
        System.out.println("ready");
        Thread.sleep(60_000);
        System.out.println(held.length);
    }
}
