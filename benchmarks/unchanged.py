"""A reconciliation in which nothing changed: the requests and files read, for few connectors and for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.documents import Layout, Workplace
from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.opened import opened
from benchmarks.processor_time import spent_here
from benchmarks.server import serving
from gitops_connect.model.documents import Entry
from gitops_connect.source.checkout import Checkout, ContentReader, Source

TITLE = "A cycle in which nothing changed"
COUNTS = (10, 1_000, 10_000)
RUNS = 5


@dataclass
class _Counted:
    """A source that counts the files that are read. Every parsed file is read before."""

    source: Source
    read_files: int = 0
    readers: list[ContentReader] = field(default_factory=list)
    fetched: tuple[Checkout, Checkout] | None = None

    def fetch(self) -> Checkout:
        checkout = self.source.fetch()
        if self.fetched is None or self.fetched[0] is not checkout:
            self.readers = [checkout.reader]
            self.fetched = checkout, replace(checkout, reader=self)
        return self.fetched[1]

    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        self.read_files += len(entries)
        return self.readers[0].read(entries, at_most)

    @property
    def last_good(self) -> Checkout | None:
        return self.source.last_good

    def close(self) -> None:
        self.source.close()


def measure(directory: Path) -> Iterator[Figure]:
    """Requests and files must not grow with the number of connectors. The processor time may."""
    for count in COUNTS:
        workplace = Workplace(directory / f"unchanged-{count}", count, Layout.FILE_EACH)
        with serving(count) as served:
            workplace.create(served.url)
            yield from _measure(workplace, served.requests)


def _measure(workplace: Workplace, requests: Callable[[], int]) -> Iterator[Figure]:
    with opened(workplace) as product:
        product.source = counted = _Counted(product.source)
        first = product.cycle().plan
        if first.adopted != tuple(step.connector for step in first.steps) or counted.read_files != workplace.count:
            raise NotMeasured(
                "the first cycle was to adopt what is in place, to do nothing else, and to read every file"
            )
        counted.read_files, before, seconds = 0, requests(), []
        for _ in range(RUNS):
            began = spent_here()
            product.cycle()
            seconds.append(spent_here() - began)
        asked = (requests() - before) / RUNS
    of = f"of {workplace.count:,} connectors"
    yield Figure(f"REST calls {of}", asked, limit=3)
    yield Figure(f"files read or parsed {of}", counted.read_files, limit=0)
    yield median(Figure(f"processor time {of}", 0, "s"), seconds)
