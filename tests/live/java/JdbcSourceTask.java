package io.aiven.connect.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Reads the rows of its tables, or of its query, that come after the last offset; a record is the row's columns. */
public final class JdbcSourceTask extends SourceTask {
    private final List<Reader> readers = new ArrayList<>();
    private AbstractConfig config;
    private Connection connection;

    @Override
    public void start(Map<String, String> given) {
        config = new AbstractConfig(JdbcSourceConnector.CONFIG, given);
        try {
            Class.forName("org.postgresql.Driver", true, getClass().getClassLoader());
            connection = DriverManager.getConnection(
                    config.getString(JdbcSourceConnector.URL),
                    config.getString(JdbcSourceConnector.USER),
                    config.getPassword(JdbcSourceConnector.PASSWORD).value());
        } catch (SQLException | ClassNotFoundException error) {
            throw new ConnectException("Cannot open a connection to the database: " + error.getMessage(), error);
        }
        String query = config.getString(JdbcSourceConnector.QUERY);
        String prefix = config.getString(JdbcSourceConnector.PREFIX);
        if (!query.isEmpty()) {
            readers.add(new Reader(query, prefix, List.of(Map.of("query", "query"))));
        }
        for (String name : query.isEmpty() ? config.getList(JdbcSourceConnector.TABLES) : List.<String>of()) {
            String table = name.substring(name.lastIndexOf('.') + 1);
            readers.add(new Reader(
                    "SELECT * FROM " + name,
                    prefix + table,
                    List.of(partition(name), Map.of("table", table))));
        }
    }

    /**
     * A HashMap as in the original: Connect finds an offset by the bytes of its partition, and so by the order of the
     * fields, which it takes from a HashMap when it lists offsets.
     */
    private static Map<String, String> partition(String table) {
        Map<String, String> partition = new HashMap<>();
        partition.put("table", table);
        partition.put("protocol", "1");
        return partition;
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        List<SourceRecord> found = new ArrayList<>();
        try {
            for (Reader reader : readers) {
                reader.read(found);
            }
        } catch (SQLException error) {
            throw new ConnectException("Cannot read from the database: " + error.getMessage(), error);
        }
        if (found.isEmpty()) {
            Thread.sleep(config.getLong(JdbcSourceConnector.INTERVAL));
        }
        return found;
    }

    @Override
    public void stop() {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (SQLException error) {
            throw new ConnectException("Cannot close the connection to the database", error);
        }
    }

    @Override
    public String version() {
        return "stand-in";
    }

    /** One table or query: its statement, and the position after which it reads. */
    private final class Reader {
        private final String rows;
        private final String topic;
        private final Map<String, String> partition;
        private final String incrementing = column(JdbcSourceConnector.INCREMENTING, "incrementing");
        private final String timestamp = column(JdbcSourceConnector.TIMESTAMP, "timestamp");
        private long lastId = -1;
        private Timestamp lastTime = new Timestamp(0);

        /** The first of the partitions that has an offset decides; records carry the first of all. */
        Reader(String rows, String topic, List<Map<String, String>> partitions) {
            this.rows = rows;
            this.topic = topic;
            this.partition = partitions.get(0);
            for (Map<String, String> candidate : partitions) {
                Map<String, Object> offset = context.offsetStorageReader().offset(candidate);
                if (offset != null) {
                    goOnFrom(offset);
                    return;
                }
            }
        }

        private String column(String key, String mode) {
            return List.of(config.getString(JdbcSourceConnector.MODE).split("[+]")).contains(mode)
                    ? config.getString(key)
                    : null;
        }

        /** The casts are those of the original: a number that is no Long, or nanoseconds out of range, end the task. */
        private void goOnFrom(Map<String, Object> offset) {
            Long id = (Long) offset.get("incrementing");
            Long millis = (Long) offset.get("timestamp");
            Long nanos = (Long) offset.get("timestamp_nanos");
            lastId = id == null ? -1 : id;
            if (millis != null) {
                lastTime = new Timestamp(millis);
                if (nanos != null) {
                    lastTime.setNanos(nanos.intValue());
                }
            }
        }

        void read(List<SourceRecord> found) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(rows + criteria())) {
                bind(statement);
                try (ResultSet row = statement.executeQuery()) {
                    while (row.next()) {
                        found.add(record(row));
                    }
                }
            }
        }

        private String criteria() {
            if (timestamp != null && incrementing != null) {
                return String.format(
                        " WHERE %1$s < CURRENT_TIMESTAMP AND ((%1$s = ? AND %2$s > ?) OR %1$s > ?) ORDER BY %1$s, %2$s ASC",
                        timestamp, incrementing);
            }
            return timestamp != null
                    ? String.format(" WHERE %1$s > ? AND %1$s < CURRENT_TIMESTAMP ORDER BY %1$s ASC", timestamp)
                    : String.format(" WHERE %1$s > ? ORDER BY %1$s ASC", incrementing);
        }

        private void bind(PreparedStatement statement) throws SQLException {
            int at = 1;
            if (timestamp != null) {
                statement.setTimestamp(at++, lastTime);
            }
            if (incrementing != null) {
                statement.setLong(at++, lastId);
            }
            if (timestamp != null && incrementing != null) {
                statement.setTimestamp(at, lastTime);
            }
        }

        private SourceRecord record(ResultSet row) throws SQLException {
            Map<String, Object> offset = new HashMap<>();
            if (incrementing != null) {
                lastId = row.getLong(incrementing);
                offset.put("incrementing", lastId);
            }
            if (timestamp != null) {
                lastTime = row.getTimestamp(timestamp);
                offset.put("timestamp", lastTime.getTime());
                offset.put("timestamp_nanos", (long) lastTime.getNanos());
            }
            List<String> columns = new ArrayList<>();
            for (int column = 1; column <= row.getMetaData().getColumnCount(); column++) {
                columns.add(row.getString(column));
            }
            return new SourceRecord(partition, offset, topic, Schema.STRING_SCHEMA, String.join("|", columns));
        }
    }
}
