"""Offset changes whose declared or current offsets do not fit into memory: their way through files, Spark, and back.

`workspace` holds the files of one reconciliation, `spark_checks` what Spark reports about them, and `change` is what
`apply` uses while the connector is stopped.
"""
