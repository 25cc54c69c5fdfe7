package org.example.fixtures;

import java.util.Map;

/** Lets nobody change its offsets. */
public class FixedNumberSource extends NumberSource {
    @Override
    public boolean alterOffsets(Map<String, String> config, Map<Map<String, ?>, Map<String, ?>> offsets) {
        throw new UnsupportedOperationException("these numbers cannot be moved");
    }
}
