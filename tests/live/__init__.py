"""Connectors that others wrote, over real databases: Debezium for PostgreSQL and MariaDB, and a JDBC source."""
