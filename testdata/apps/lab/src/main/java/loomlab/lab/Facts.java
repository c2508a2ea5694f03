package loomlab.lab;

import java.util.Map;

/** A part of an app that states its settings as they are in force. */
public interface Facts {

    Map<String, String> facts();
}
