"""Third-party connectors on real databases: Debezium for PostgreSQL and MariaDB, and a JDBC source."""
