package org.example.fixtures;

import java.util.Map;

/** Lets its offsets be changed. */
public class MovableNumberSource extends NumberSource {
    @Override
    public boolean alterOffsets(Map<String, String> config, Map<Map<String, ?>, Map<String, ?>> offsets) {
        return true;
    }
}
