package org.example.fixtures;

import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** Lets its offsets be changed. */
public class MovableRecordSink extends RecordSink {
    @Override
    public boolean alterOffsets(Map<String, String> config, Map<TopicPartition, Long> offsets) {
        return true;
    }
}
