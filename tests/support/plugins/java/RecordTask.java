package org.example.fixtures;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** Writes each batch at once, so that what the file holds is what was delivered. */
public class RecordTask extends SinkTask {
    private Path file;

    @Override
    public void start(Map<String, String> given) {
        file = Path.of(given.get(RecordSink.FILE));
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        StringBuilder lines = new StringBuilder();
        for (SinkRecord record : records) {
            lines.append(record.kafkaPartition()).append(' ').append(record.kafkaOffset()).append(' ');
            lines.append(record.key()).append(' ').append(record.value()).append('\n');
        }
        try {
            Files.writeString(file, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new ConnectException("cannot write " + file, error);
        }
    }

    @Override
    public void stop() {}

    @Override
    public String version() {
        return "1";
    }
}
