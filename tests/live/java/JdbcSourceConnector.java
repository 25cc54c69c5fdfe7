package io.aiven.connect.jdbc;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigDef.ValidString;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;

/**
 * Stands in for the JDBC source of Aiven, which Maven Central does not have. Its class name, config keys, partitions and
 * offsets are those of the original ({@code OffsetProtocols}, {@code TimestampIncrementingOffset}); so are the rows that
 * it reads after an offset ({@code TimestampIncrementingCriteria}). Everything else is left out: dialects, bulk mode,
 * table discovery, types beyond strings, quotes around identifiers.
 */
public final class JdbcSourceConnector extends SourceConnector {
    static final String URL = "connection.url";
    static final String USER = "connection.user";
    static final String PASSWORD = "connection.password";
    static final String MODE = "mode";
    static final String QUERY = "query";
    static final String TABLES = "table.whitelist";
    static final String INCREMENTING = "incrementing.column.name";
    static final String TIMESTAMP = "timestamp.column.name";
    static final String PREFIX = "topic.prefix";
    static final String INTERVAL = "poll.interval.ms";

    static final ConfigDef CONFIG = new ConfigDef()
            .define(URL, Type.STRING, Importance.HIGH, "JDBC URL of the database.")
            .define(USER, Type.STRING, "", Importance.HIGH, "User of the database.")
            .define(PASSWORD, Type.PASSWORD, "", Importance.HIGH, "Password of that user.")
            .define(
                    MODE,
                    Type.STRING,
                    ConfigDef.NO_DEFAULT_VALUE,
                    ValidString.in("incrementing", "timestamp", "timestamp+incrementing"),
                    Importance.HIGH,
                    "How new rows are told from old ones.")
            .define(QUERY, Type.STRING, "", Importance.MEDIUM, "A query to read in place of tables.")
            .define(TABLES, Type.LIST, List.of(), Importance.MEDIUM, "The tables to read, each as schema.table.")
            .define(INCREMENTING, Type.STRING, "", Importance.MEDIUM, "A column whose values only grow.")
            .define(TIMESTAMP, Type.STRING, "", Importance.MEDIUM, "A column with the time of the last change.")
            .define(PREFIX, Type.STRING, Importance.HIGH, "Begin of the topics' names; of a query, the topic.")
            .define(INTERVAL, Type.LONG, 100L, Importance.LOW, "Milliseconds between two looks at a table.");

    private Map<String, String> config;

    @Override
    public void start(Map<String, String> given) {
        config = given;
    }

    @Override
    public void stop() {
        config = null;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return JdbcSourceTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        List<String> tables = new AbstractConfig(CONFIG, config).getList(TABLES);
        if (!config.getOrDefault(QUERY, "").isEmpty()) {
            return List.of(config);
        }
        List<Map<String, String>> tasks = new ArrayList<>();
        for (int index = 0; index < Math.min(maxTasks, tables.size()); index++) {
            Map<String, String> task = new HashMap<>(config);
            List<String> share = new ArrayList<>();
            for (int at = index; at < tables.size(); at += maxTasks) {
                share.add(tables.get(at));
            }
            task.put(TABLES, String.join(",", share));
            tasks.add(task);
        }
        return tasks;
    }

    @Override
    public ConfigDef config() {
        return CONFIG;
    }

    @Override
    public String version() {
        return "stand-in";
    }
}
