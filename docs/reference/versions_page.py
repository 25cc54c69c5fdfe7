"""The page about versions of Kafka Connect, from the table of what each version can do."""

from __future__ import annotations

from generated_tables import NOTICE, cell

from gitops_connect.connect.capabilities import CAPABILITIES, KNOWN_BUGS

INTRODUCTION = """\
gitops-connect asks a worker of each cluster for its version, and sends no request that this version does not accept.
`gitops-connect doctor` lists what the workers of each cluster cannot do, with the consequence. A plan says so for each
connector and offset change that needs it, before anything is changed.

| Kafka Connect | tested |
| --- | --- |
| 4.3 | every test; the sandbox runs 4.3.1 by default |
| 3.9, 3.6 | before each release, on real workers of 3.9.1 and 3.6.2: create, change, stop, seed, rewind, reset, \
rename, restart and delete connectors, `doctor` and `plan` |
| 4.1, 3.7, 3.5, 3.4 | the same tests, run once, on 4.1.1, 3.7.2, 3.5.1 and 3.4.1 |
| 2.8 | `doctor`, `plan`, `apply`, `describe`, `import` and `restart`, tried once on 2.8.2 |
| others | not tested; the table below applies |

To try another version: `gitops-connect sandbox up --kafka-version 3.9.1`. During a rolling upgrade, workers of a
cluster have different versions. If `url` lists several workers, the oldest version of those that answer counts, and the
plan and `doctor` say so. Otherwise, the version of the worker that answers counts. Finish the upgrade before you
apply changes. `doctor` also compares the plugins of these workers, their Kafka cluster, topic tracking and support for
exactly-once sources.

## What a version adds
"""
CONFLUENT = """\
## Confluent Platform

Confluent Platform reports a version of its own, which gitops-connect translates:

| Confluent Platform | Kafka |
| --- | --- |
| 5.x | 2.x |
| 6.x | 2.(6+x) |
| 7.x | 3.x |
| 8.x | 4.x |
| later | newer than all known versions |

A version that cannot be parsed counts as older than all known versions.
"""


def versions() -> str:
    """What each version adds, what gitops-connect does without it, and the known bugs."""
    lines = ["# Versions of Kafka Connect", "", NOTICE, INTRODUCTION]
    lines += ["| from Kafka | workers can | request or key | on an older worker |", "| --- | --- | --- | --- |"]
    for one in CAPABILITIES:
        request = one.request if "`" in one.request else f"`{one.request}`"
        cells = (one.first, f"{one.action} ({one.source})", request, one.without)
        lines.append(f"| {' | '.join(map(cell, cells))} |")
    lines += ["", "## Known bugs of workers", "", "| before Kafka | bug | what to do |", "| --- | --- | --- |"]
    for bug in KNOWN_BUGS:
        lines.append(f"| {bug.fixed} | {cell(f'{bug.effect} ({bug.source})')} | {cell(bug.advice)} |")
    return "\n".join([*lines, "", CONFLUENT])
