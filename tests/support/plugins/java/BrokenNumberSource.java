package org.example.fixtures;

import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;

/** Fails when its offsets are changed. */
public class BrokenNumberSource extends NumberSource {
    @Override
    public boolean alterOffsets(Map<String, String> config, Map<Map<String, ?>, Map<String, ?>> offsets) {
        throw new ConnectException("the offsets are kept elsewhere, and nobody answers there");
    }
}
