"""Kafka's connectors for files, FileStreamSource and FileStreamSink. `facts.yaml` has the facts."""

from __future__ import annotations

from gitops_connect.model.units import Unit

FILE_BYTES = Unit("file_bytes", "byte of the file", "bytes of the file", "file_bytes")
