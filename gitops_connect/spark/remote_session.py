"""A session on a Spark Connect server: this process is a gRPC client, and has no Java."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitops_connect.errors import UsageError
from gitops_connect.spark.master_url import EVERYWHERE, Master

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RETRIES = 5
_LONGEST_WAIT = 2000
"""Milliseconds. A server that has gone is reported within about 10 s; PySpark would retry for 10 minutes."""


def open_remote_session(master: Master, url: str, options: Mapping[str, str]) -> SparkSession:
    """Begin a session on the server. Raises UsageError if a package is missing here, and what PySpark raises."""
    from pyspark.errors import PySparkImportError  # noqa: PLC0415 - nothing of Spark is imported before it is used

    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - needs gRPC
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - needs gRPC
    except (PySparkImportError, ModuleNotFoundError) as error:
        raise UsageError(
            f"Spark Connect ({master.shown}) needs more packages on this machine:"
            f" pip install 'gitops-connect[spark-connect]' ({error})"
        ) from error
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error that follows reports it
    builder = SparkSession.builder.remote(url)
    for name, value in {**EVERYWHERE, **options}.items():
        builder = builder.config(name, value)
    spark: Any = builder.create()
    spark.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=_LONGEST_WAIT)])
    return spark  # type: ignore[no-any-return]  # both kinds of sessions have the same methods
