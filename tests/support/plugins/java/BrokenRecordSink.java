package org.example.fixtures;

import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.errors.ConnectException;

/** Fails when its offsets are changed. */
public class BrokenRecordSink extends RecordSink {
    @Override
    public boolean alterOffsets(Map<String, String> config, Map<TopicPartition, Long> offsets) {
        throw new ConnectException("the offsets are kept elsewhere, and nobody answers there");
    }
}
