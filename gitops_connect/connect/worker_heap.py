"""Estimates the memory that a change of offsets needs in a worker, before anything is sent.

A worker keeps every source partition of its cluster in memory for as long as the partition has an offset. A change that
does not fit kills all threads of the worker at once, while its process still runs and answers no request.
docs/contributing/worker-memory.md has the measurements, and names the objects in Kafka that use the memory. The figures
here are those for up to three fields in a partition, rounded up a little.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector
from gitops_connect.model.plans import HeapEstimate

KIB, MIB, GIB = 2**10, 2**20, 2**30
LARGEST_CHUNK = 12 * MIB
"""Bytes of one request: some 140,000 offsets. Larger requests are faster only with support for exactly-once sources."""
LARGEST_BODY = 48 * MIB
"""Bytes of one request that gitops-connect may build: it holds several copies of the request for a moment."""

# KafkaOffsetBackingStore holds a partition twice: as the bytes of the record's key and value, each in a ByteBuffer
# (`data`), and parsed, as a map of boxed values (`connectorPartitions`). So each byte counts twice.
_CURRENT, _CURRENT_TEXTS = 480, 2
# A GET creates a set of the partitions, their keys once more, and a list of all answers before it sends a byte.
_READ_BACK, _READ_BACK_TEXTS = 400, 1
# A PATCH holds its entries as they were parsed, again as the converter returns them (normalized), and as bytes.
_CHUNK, _CHUNK_TEXTS = 1_400, 4
# An idle worker has 17 MiB; the buffers of a producer and of its consumers are added.
_WORKER = 96 * MIB
# If less than this share is free, a worker collects garbage for longer than the timeout of a request.
_COLLECTOR = 20


def count_copies(name: ConnectorName, connectors: Iterable[ObservedConnector], *, exactly_once: bool) -> int:
    """How often a worker holds every source partition of its cluster while the offsets of this connector are changed.

    Without support for exactly-once sources (KIP-618) each worker holds one copy. With this support, the request opens
    a store of its own (`Worker.offsetStoreForExactlyOnceSourceConnector`). Each source connector that the worker runs
    has a store, even if the connector is stopped, and so has each of its tasks. `connectors` are all of the cluster:
    the worker with most of these stores counts, because it may be the worker that carries out the change.
    """
    if not exactly_once:
        return 1
    held = Counter[str]()
    for other in connectors:
        if other.type is ConnectorType.SOURCE and other.name != name:
            held.update([other.worker, *(task.worker for task in other.tasks)])
    return 3 + max(held.values(), default=0)


def estimate(partitions: int, size: int, chunk: int, copies: int = 1) -> HeapEstimate:
    """The heap for current and declared `partitions`, with `size` bytes of lines in all, sent in chunks of `chunk`.

    A line is `{"partition":…,"offset":…}`, as it is sent. Afterwards all offsets are read back, which can take more
    heap than a chunk. The estimate does not contain the heap of the connectors themselves, nor the offsets of the
    cluster's other connectors.
    """
    line = _line(partitions, size)
    current, reading = partitions * _current(line), partitions * _read_back(line)
    sending = math.ceil(chunk / line) * _sent(line)
    needed = math.ceil((current * copies + max(sending, reading) + _WORKER) * (1 + 1 / _COLLECTOR))
    parts = [
        f"{partitions:,} partitions of {line:,} bytes: {partitions:,} x ({_CURRENT} + {_CURRENT_TEXTS} x {line:,}) = "
        + size_text(current)
    ]
    if copies > 1:
        parts.append(f"in {copies} copies {size_text(current * copies)}")
    if sending > reading:
        parts.append(f"{size_text(sending)} for a chunk of {size_text(chunk)}")
    else:
        parts.append(f"{size_text(reading)} for reading them back")
    parts.append(f"{size_text(_WORKER)} for the worker itself")
    return HeapEstimate(needed, ", ".join(parts) + f", and {100 // _COLLECTOR} % more for its garbage collector")


def largest_chunk(partitions: int, size: int, copies: int, limit: int) -> int:
    """Bytes of the largest request for which workers with a heap of `limit` bytes have room; 0: the heap is not known.

    The arguments are those of `estimate`. A chunk may always need as much as reading all offsets back: the worker needs
    that heap in any case.
    """
    line = _line(partitions, size)
    free = limit * _COLLECTOR // (_COLLECTOR + 1) - _WORKER - partitions * _current(line) * copies
    entries = max(free, partitions * _read_back(line)) // _sent(line)
    return max(LARGEST_CHUNK, min(entries * line, LARGEST_BODY))


def heap_refusal(estimated: HeapEstimate, limit: int) -> str | None:
    """The error message if a change does not fit into workers with that heap; None if it fits, or `limit` is 0."""
    if not limit or estimated.size <= limit:
        return None
    enough = math.ceil(estimated.size / (GIB // 2)) / 2
    return (
        f"each worker would need {size_text(estimated.size)} of heap, but worker_heap is {size_text(limit)} "
        f"({estimated.arithmetic}). Start the workers with a larger heap (-Xmx{enough * KIB:.0f}m) and set "
        f'worker_heap = "{enough:g}GiB", or move some of the partitions to a connector of another Connect cluster: '
        "every worker holds the offsets of its whole cluster"
    )


def size_text(size: int) -> str:
    """Bytes as people read them, rounded up to three digits: `1.35 GiB`, `96 MiB`, `700 bytes`."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            digits = 100 if size < 10 * unit else 10 if size < 100 * unit else 1
            return f"{math.ceil(size * digits / unit) / digits:g} {name}"
    return f"{size} bytes"


def _line(partitions: int, size: int) -> int:
    """The average number of bytes in a line."""
    return max(1, math.ceil(size / max(1, partitions)))


def _current(line: int) -> int:
    return _CURRENT + _CURRENT_TEXTS * line


def _read_back(line: int) -> int:
    return _READ_BACK + _READ_BACK_TEXTS * line


def _sent(line: int) -> int:
    return _CHUNK + _CHUNK_TEXTS * line
