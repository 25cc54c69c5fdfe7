"""The Snowflake sink, which stores its position in Snowflake. `facts.yaml` has the facts."""

from __future__ import annotations

from dataclasses import replace

from gitops_connect.families.resume import one_of
from gitops_connect.families.sinks import SINK_RULES

_IS_STREAMING = one_of("snowflake.ingestion.method", "snowpipe_streaming")
SNOWPIPE_RULES = tuple(replace(rule, when=(~_IS_STREAMING,)) for rule in SINK_RULES)
"""Of version 3, if it does not use SNOWPIPE_STREAMING: it resumes at the offsets of its consumer group."""
