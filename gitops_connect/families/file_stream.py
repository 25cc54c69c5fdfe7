"""Kafka's connectors for files, FileStreamSource and FileStreamSink."""

from __future__ import annotations

from gitops_connect.families.family import ConnectorClass, Family
from gitops_connect.families.field_kinds import NUMBER, TEXT
from gitops_connect.families.offset_keys import OffsetKeys, Start, named_in_partitions
from gitops_connect.families.resume import FORWARD, NEW, REMOVED, ResumeRules
from gitops_connect.families.shapes import Demand, Shape, ShapeFields
from gitops_connect.families.sinks import PLAIN_SINK
from gitops_connect.families.ties import Tied
from gitops_connect.model.units import Unit

FILE_BYTES = Unit("file_bytes", "byte of the file", "bytes of the file", "file_bytes")

_SHAPE = Shape(
    "FileStreamSourceConnector",
    (ShapeFields({"filename": TEXT}),),
    ShapeFields({"position": NUMBER}),
    ("position",),
    unit=FILE_BYTES,
    measured=("position",),
    tied=(Tied("filename", "manifest/file", ("file",)),),
    demand=Demand.FIELDS,
)
"""`FileStreamSourceConnector.alterOffsets`, `FileStreamSourceTask`."""

_RULES = ResumeRules(
    "the offset alone",
    (
        (FORWARD | NEW).risk(
            "if the offset is past the end of the file, nothing is read until the file grows beyond the offset"
        ),
        REMOVED.effect("the file is read from its beginning"),
    ),
)
"""`FileStreamSourceTask.poll` skips to the position."""

_KEYS = OffsetKeys(Start("reads the file from its beginning"), (named_in_partitions("file", "file"),))

FAMILY = Family(
    1,
    "FileStream",
    {
        "org.apache.kafka.connect.file.FileStreamSourceConnector": ConnectorClass(
            _SHAPE,
            _RULES,
            _KEYS,
        ),
        "org.apache.kafka.connect.file.FileStreamSinkConnector": PLAIN_SINK,
    },
    units=(FILE_BYTES,),
)
