package org.example.fixtures;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * Goes on from the offsets that it is given, so that a rewind and a skip are seen in the topic. Like a task that reads the
 * log of a database, it starts with any offset, and fails at its first poll if the log is no longer there.
 */
public class NumberTask extends SourceTask {
    private final Map<String, Long> positions = new LinkedHashMap<>();
    private String topic;
    private long until;
    private long interval;
    private long oldest;

    @Override
    public void start(Map<String, String> given) {
        AbstractConfig config = new AbstractConfig(NumberSource.CONFIG, given);
        topic = config.getString(NumberSource.TOPIC);
        until = config.getLong(NumberSource.UNTIL);
        interval = config.getLong(NumberSource.INTERVAL);
        oldest = config.getLong(NumberSource.OLDEST);
        for (String stream : config.getList(NumberSource.STREAMS)) {
            Map<String, Object> offset = context.offsetStorageReader().offset(Map.of("stream", stream));
            positions.put(stream, offset == null ? oldest : ((Number) offset.get("position")).longValue());
        }
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        Thread.sleep(interval);
        positions.forEach((stream, position) -> {
            if (position < oldest) {
                throw new ConnectException("number " + position + " is no longer there, the oldest is " + oldest);
            }
        });
        List<SourceRecord> records = new ArrayList<>();
        positions.replaceAll((stream, position) -> {
            if (position >= until) {
                return position;
            }
            records.add(record(stream, position + 1));
            return position + 1;
        });
        return records.isEmpty() ? null : records;
    }

    private SourceRecord record(String stream, long number) {
        Map<String, ?> partition = Map.of("stream", stream);
        Map<String, ?> offset = Map.of("position", number);
        return new SourceRecord(partition, offset, topic, Schema.STRING_SCHEMA, stream + " " + number);
    }

    @Override
    public void stop() {}

    @Override
    public String version() {
        return "1";
    }
}
