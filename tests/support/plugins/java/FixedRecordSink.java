package org.example.fixtures;

import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** Lets nobody change its offsets. */
public class FixedRecordSink extends RecordSink {
    @Override
    public boolean alterOffsets(Map<String, String> config, Map<TopicPartition, Long> offsets) {
        throw new UnsupportedOperationException("this file cannot be wound back");
    }
}
