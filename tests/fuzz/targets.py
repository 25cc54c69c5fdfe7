"""What is fuzzed: each target reads any bytes, and raises only if there is a bug. The seeds are cases of other tests.

The first byte of an input chooses a variant, such as the name of the file, so one corpus has all variants of a target.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from forge.test_hostile_answers import METHODS, Answering, answers, assert_typed
from forge.worlds import TOKEN, forge_of
from hostile import test_fuzz
from support.files.tables import read_yaml

from gitops_connect.errors import GitopsConnectError
from gitops_connect.exchange.readers.reader import SUFFIXES, read
from gitops_connect.exchange.readers.unknown_values import without_marks
from gitops_connect.model.documents import Blob
from gitops_connect.report.printable import one_line
from gitops_connect.settings.sections import ForgeKind

TESTS = Path(__file__).parents[1]
_FILES = (*(f"a{suffix}" for suffix in SUFFIXES), "a.md", "a.adoc", "a")
_MANIFESTS = ("a.json", "a.jsonl", "a.yaml", "a.csv", "a.json.gz", "a.jsonl.zst", "a.yaml.gz", "a.csv.zst")
_ENTITIES = tuple(test_fuzz._ENTITIES)


class Target(NamedTuple):
    """Valid inputs, and the function that reads any input."""

    seeds: Callable[[], Iterable[bytes]]
    run: Callable[[bytes], None]


def texts(*names: str) -> Iterator[str]:
    """These files, and every string in those that are tables of cases."""
    for name in names:
        for path in sorted(TESTS.parent.glob(name)):
            content = path.read_text()
            yield content
            if path.name.startswith("test_"):
                yield from strings(read_yaml(path))


def strings(value: Any) -> Iterator[str]:
    match value:
        case dict():
            yield from (one for inner in value.values() for one in strings(inner))
        case list():
            yield from (one for inner in value for one in strings(inner))
        case str():
            yield value


def converted() -> Iterator[bytes]:
    """Each text as a file without a suffix, whose content says what it is, and as a file with one of the suffixes."""
    found = dict.fromkeys(texts("tests/exchange/test_*.yaml", "tests/exchange/*.json"))
    for number, content in enumerate(found):
        yield from (bytes([one % len(_FILES)]) + test_fuzz.encoded(content) for one in (-1, number))


def packed() -> Iterator[bytes]:
    """Manifests of each format, also compressed."""
    for name, content in test_fuzz._MANIFESTS.items():
        if name in _MANIFESTS:
            yield bytes([_MANIFESTS.index(name)]) + content.encode()
    for name in test_fuzz._PACKED:
        yield bytes([_MANIFESTS.index(name)]) + test_fuzz.packed_manifest(name)


def chosen(content: bytes, variants: Sequence[Any]) -> tuple[Any, bytes]:
    return variants[(content[:1] or b"\0")[0] % len(variants)], content[1:]


def read_foreign_file(content: bytes) -> None:
    """`convert`: each problem can be printed, and its location is in the file."""
    name, text = chosen(content, _FILES)
    found = without_marks(read(Blob(name, "", text), None), has_cluster=False)
    for problem in found.diagnostics:
        one_line(f"{problem.summary} {problem.hint}").encode()
        assert problem.location.line >= 1
    for declared in found.declarations:
        json.dumps(dict(declared.config), ensure_ascii=False).encode()


def read_manifest(content: bytes) -> None:
    test_fuzz.read_manifest(*chosen(content, _MANIFESTS))


def read_answer_of_connect(content: bytes) -> None:
    test_fuzz.read_wire(*chosen(content, _ENTITIES))


@dataclass
class ForgeReader:
    """Clients of all forges, with a server whose answer to one request is the input. Started with the first input."""

    pairs: list[tuple[Answering, Any, dict[str, bytes], str, Callable[[Any], Any]]] = field(default_factory=list)
    open: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        for kind in ForgeKind:
            usual = {asked: encoded_answer(answer) for asked, answer in answers(kind).items()}
            server = Answering(kind)
            forge = self.open.enter_context(closing(forge_of(kind, self.open.enter_context(server.running()), TOKEN)))
            for method in METHODS:
                server.bodies, server.requests = usual, []
                method(forge)
                self.pairs += [(server, forge, usual, asked, method) for asked in dict.fromkeys(server.requests)]

    def seeds(self) -> Iterator[bytes]:
        if not self.pairs:
            self.start()
        for number, (_, _, usual, asked, _) in enumerate(self.pairs):
            yield bytes([number % 256]) + usual.get(asked, b"")

    def run(self, content: bytes) -> None:
        if not self.pairs:
            self.start()
        (server, forge, usual, asked, method), body = chosen(content, self.pairs)
        server.bodies = {**usual, asked: body}
        try:
            assert_typed(method(forge))
        except GitopsConnectError as error:
            str(error).encode()


def encoded_answer(answer: Any) -> bytes:
    return answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()


def documents() -> Iterator[bytes]:
    names = "documents/*.yaml", "strimzi/*.yaml", "cases/documents/**/*.yaml"
    return (test_fuzz.encoded(one) for one in texts("examples/**/*.yaml", *(f"tests/{name}" for name in names)))


def answers_of_connect() -> Iterator[bytes]:
    for number, name in enumerate(_ENTITIES):
        yield bytes([number]) + json.dumps(test_fuzz._ENTITIES[name]).encode()


_FORGES = ForgeReader()
TARGETS = {
    "documents": Target(documents, test_fuzz.read_documents),
    "converters": Target(converted, read_foreign_file),
    "manifests": Target(packed, read_manifest),
    "connect": Target(answers_of_connect, read_answer_of_connect),
    "forges": Target(_FORGES.seeds, _FORGES.run),
}
