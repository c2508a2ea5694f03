package loomlab.quarkus;

import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import loomlab.frameworks.Lab;

/** Lets the app take the same arguments as the others, which application.properties then refers to. */
@QuarkusMain
public class QuarkusApp {

    public static void main(String[] args) {
        Lab.settings(args);
        Quarkus.run();
    }
}
