"""The Iceberg sinks of Apache and of Databricks (formerly Tabular). `facts.yaml` has the facts."""
