package org.example.fixtures;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;

/**
 * Counts: {@code "a 1"}, {@code "a 2"}, … for each of its streams. Partition {@code {"stream": "a"}}, offset {@code
 * {"position": 2}}: the last number that was sent. This one does not implement {@code alterOffsets}.
 */
public class NumberSource extends SourceConnector {
    static final String TOPIC = "topic";
    static final String STREAMS = "streams";
    static final String UNTIL = "until";
    static final String INTERVAL = "interval.ms";
    static final String OLDEST = "oldest";
    private static final String START_FAILS = "start.fails.while";
    private static final String STOP_FAILS = "stop.fails.while";

    static final ConfigDef CONFIG = new ConfigDef()
            .define(TOPIC, Type.STRING, Importance.HIGH, "Where the numbers go.")
            .define(STREAMS, Type.LIST, List.of("a"), Importance.HIGH, "Each is counted by itself; without any there is no task.")
            .define(UNTIL, Type.LONG, Long.MAX_VALUE, Importance.HIGH, "The last number; then nothing more comes.")
            .define(INTERVAL, Type.LONG, 10L, Importance.LOW, "The pause before each number of all streams.")
            .define(OLDEST, Type.LONG, 0L, Importance.LOW, "The task fails when it goes on from before this number.")
            .define(START_FAILS, Type.STRING, "", Importance.LOW, "The start throws while this file is there.")
            .define(STOP_FAILS, Type.STRING, "", Importance.LOW, "The stop throws while this file is there.");

    private Map<String, String> config;

    @Override
    public void start(Map<String, String> given) {
        config = given;
        throwWhileThere(START_FAILS, "the connector cannot start");
    }

    @Override
    public void stop() {
        throwWhileThere(STOP_FAILS, "the connector cannot stop");
    }

    private void throwWhileThere(String key, String message) {
        String file = config.getOrDefault(key, "");
        if (!file.isEmpty() && Files.exists(Path.of(file))) {
            throw new ConnectException(message + " while there is " + file);
        }
    }

    @Override
    public Class<? extends Task> taskClass() {
        return NumberTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        boolean isEmpty = new AbstractConfig(CONFIG, config).getList(STREAMS).isEmpty();
        return isEmpty ? List.of() : List.of(config);
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
