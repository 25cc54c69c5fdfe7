package org.example.fixtures;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;

/**
 * Appends every record to a file, a line each: partition, offset, key, value. This one does not implement {@code
 * alterOffsets}.
 */
public class RecordSink extends SinkConnector {
    static final String FILE = "file";

    static final ConfigDef CONFIG =
            new ConfigDef().define(FILE, Type.STRING, Importance.HIGH, "Where the records are written down.");

    private Map<String, String> config;

    @Override
    public void start(Map<String, String> given) {
        config = given;
    }

    @Override
    public void stop() {}

    @Override
    public Class<? extends Task> taskClass() {
        return RecordTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return Collections.nCopies(maxTasks, config);
    }

    @Override
    public ConfigDef config() {
        return CONFIG;
    }

    @Override
    public String version() {
        return "1";
    }
}
