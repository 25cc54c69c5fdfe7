"""A bug in one document, connector or cluster stops nothing else. The faults are values that raise when read."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_journal import reconcile_options
from support.files.document_files import LOCAL, MemoryFiles, connector, files
from support.files.every_field import CONFIG_MAP, kafka_connector, text
from support.planner.situations import CLUSTER, change, seen, situation, wanted

from gitops_connect.checks import document_schemas, plugin_validation
from gitops_connect.checks.plugin_validation import ValidateOptions
from gitops_connect.cli.clusters import each_cluster, report_bugs, worst
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.validation import ConfigVerdict
from gitops_connect.daemon.jobs import Jobs
from gitops_connect.declare import Caches
from gitops_connect.declare import declare as declare_all
from gitops_connect.documents.desired_state import BuildOptions, build
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.errors import ConnectUnavailable
from gitops_connect.model.diagnostics import INTERNAL_ERROR, Diagnostics, Location, contained
from gitops_connect.model.documents import Document, Documents
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.plans import Action
from gitops_connect.model.strimzi import DEFAULT_OPTIONS
from gitops_connect.offset_changes.manifest_source import ManifestSource, ManifestVerdicts
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.plan.planner import plan_contained
from gitops_connect.plan.situation import Policy, Situation
from gitops_connect.reconcile import reconcile
from gitops_connect.runtime import open_runtime, open_source
from gitops_connect.settings.settings_file import load_settings
from gitops_connect.strimzi.annotations import find_annotated, with_requests
from gitops_connect.strimzi.translation import TranslationCache, translate

BAD = ConnectorName("bad")


@dataclass
class Fuse:
    """Raises at one of the reads that it counts."""

    at: int
    reads: int = 0

    def burn(self) -> None:
        self.reads += 1
        if self.reads == self.at:
            raise ZeroDivisionError(f"read {self.at} of hunter2")


class Trap(dict[Any, Any]):
    """A mapping with a fuse; the mappings in it have the same one."""

    def __init__(self, value: dict[Any, Any], fuse: Fuse) -> None:
        super().__init__({key: Trap(one, fuse) if isinstance(one, dict) else one for key, one in value.items()})
        self._fuse = fuse

    def __getitem__(self, key: Any) -> Any:
        self._fuse.burn()
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self._fuse.burn()
        return super().get(key, default)

    def items(self) -> Any:
        self._fuse.burn()
        return super().items()

    def __contains__(self, key: object) -> bool:
        self._fuse.burn()
        return super().__contains__(key)


class BadBytes(bytes):
    """The content of a file that no function can read."""

    def __getitem__(self, key: Any) -> Any:
        return self

    def __len__(self) -> NoReturn:
        raise RecursionError


def trapped(documents: tuple[Document, ...], fuse: Fuse) -> tuple[Document, ...]:
    """The documents, in which `spec` and the annotations of the bad one are traps."""
    return tuple(replace(one, value=_trapped(one.value, fuse)) if is_bad(one) else one for one in documents)


def _trapped(value: Mapping[str, Any], fuse: Fuse) -> dict[str, Any]:
    metadata = {**value["metadata"], "annotations": Trap(value["metadata"].get("annotations", {}), fuse)}
    return {**value, "metadata": metadata, "spec": Trap(value["spec"], fuse)}


def is_bad(document: Document) -> bool:
    return document.location.file == "bad.yaml"


def declared(documents: Documents) -> tuple[Any, Diagnostics]:
    documents = translate(documents, DEFAULT_OPTIONS, TranslationCache())
    annotated = list(find_annotated(documents, DEFAULT_OPTIONS))
    additions = {request.key: "0123456789ab" for one in annotated for request in one.requests}
    documents, requests = with_requests(documents, annotated, additions)
    states, diagnostics = build(documents, [LOCAL], document_schemas.check(documents), BuildOptions(requests=requests))
    return states[LOCAL], diagnostics


@pytest.mark.parametrize("content", [connector("bad"), text(kafka_connector("v1"))], ids=["document", "resource"])
def test_a_bug_at_any_read_of_a_document_is_its_own(content: str) -> None:
    texts = {"a.yaml": connector("a"), "bad.yaml": content, "c.yaml": connector("c"), "map.yaml": text(CONFIG_MAP)}
    sound = load(files(texts), ParseCache())
    name = next(one.connector for one in (*sound.documents, *sound.strimzi) if is_bad(one))
    fuse = Fuse(0)
    while fuse.reads >= fuse.at - 1:
        fuse = Fuse(fuse.at + 1)
        state, diagnostics = declared(
            replace(sound, documents=trapped(sound.documents, fuse), strimzi=trapped(sound.strimzi, fuse))
        )
        assert {"a", "c"} <= {one.name for one in state.connectors}
        assert name in {*state.held, *(one.name for one in state.connectors)} or not state.complete
        for bug in diagnostics.bugs:
            assert (bug.rule, bug.location.file) == (INTERNAL_ERROR, "bad.yaml")
            assert "hunter2" not in f"{bug.summary} {bug!r}"
    assert fuse.at > 20


def test_a_file_whose_parsing_has_a_bug_may_declare_anything() -> None:
    contents = {"a.yaml": connector("a").encode(), "bad.yaml": BadBytes(), "c.yaml": connector("c").encode()}
    documents = load(MemoryFiles(contents, sized=False), ParseCache())
    state, diagnostics = declared(documents)
    assert [one.name for one in state.connectors] == ["a", "c"]
    assert not state.complete
    assert [(one.rule, one.location) for one in diagnostics] == [(INTERNAL_ERROR, Location("bad.yaml"))]


class BadConfig(dict[str, str]):
    """A config that can be read, but not compared."""

    def __iter__(self) -> NoReturn:
        raise ZeroDivisionError

    def keys(self) -> NoReturn:
        raise ZeroDivisionError


def with_bad(**more: Any) -> Situation:
    """`a` and `c` are to be created; `bad` exists, is managed, and cannot be planned; `old` is to be pruned."""
    bad = replace(wanted("bad", config={"topic": "other"}), config=BadConfig())
    return situation(
        [wanted("a"), bad, wanted("c")],
        [seen("bad"), seen("old")],
        owned=["bad", "old"],
        policy=Policy(prune=True),
        **more,
    )


def test_a_connector_whose_planning_has_a_bug_is_left_alone() -> None:
    left, plan = plan_contained(with_bad(changes=[change("skip", "bad")]))
    assert [(one.connector, one.action) for one in plan.steps if one.action is Action.CREATE] == [
        ("a", Action.CREATE),
        ("c", Action.CREATE),
    ]
    assert BAD not in {one.connector for one in plan.steps} | set(plan.forgotten)
    assert [(one.rule, one.connector) for one in plan.diagnostics.bugs] == [(INTERNAL_ERROR, BAD)]
    assert not plan.complete
    assert BAD in left.desired.held & left.observed.unknown
    assert BAD not in left.observed.connectors
    assert {one.connector for one in plan.steps if one.action is Action.DELETE} == {"old"}


def test_its_secrets_are_masked_in_the_traces_of_others() -> None:
    password = {"password": "correct-horse-battery"}
    bad = replace(wanted("bad"), restarts=cast("Any", 7))
    failed = seen("a", tasks=["no route to correct-horse-battery"])
    observed = [failed, seen("bad", config=password)]
    left, plan = plan_contained(situation([wanted("a"), bad], observed, owned=["a", "bad"]))
    assert [one.connector for one in plan.diagnostics.bugs] == [BAD]
    assert left.secrets == {"correct-horse-battery"}
    assert [one.reason for one in plan.unhealthy[0].failures] == ["no route to ***"]


@pytest.mark.slow
def test_the_other_connectors_are_applied(tmp_path: Path) -> None:
    with StandIn() as standin:
        at = Workplace(tmp_path, (standin.url,))
        at.commit("a.yaml", *(at.source(name) for name in ("a", "bad", "c")))
        settings = load_settings(tmp_path / "gitops-connect.toml", {})
        with closing(open_runtime(settings)) as runtime, closing(open_source(settings, None)) as source:
            read = declare_all(source, [LOCAL], Caches())
            assert reconcile(runtime, read, LOCAL, reconcile_options()).succeeded
            before = len(standin.calls)
            configs = {one.name: {**one.config, "topic": "t"} for one in read.states[LOCAL].connectors}
            configs[ConnectorName(at.name("bad"))] = BadConfig(configs[ConnectorName(at.name("bad"))])
            changed = tuple(replace(one, config=configs[one.name]) for one in read.states[LOCAL].connectors)
            states = {LOCAL: replace(read.states[LOCAL], connectors=changed)}
            ended = reconcile(runtime, replace(read, states=states), LOCAL, reconcile_options())
            assert {one.step.connector for one in ended.steps} == {at.name("a"), at.name("c")}
            assert ended.succeeded
            assert ended.has_bugs
            assert runtime.ledger.ownership(LOCAL).keys() == {at.name(name) for name in ("a", "bad", "c")}
            assert not [call for call in standin.calls[before:] if "bad" in str(call)]
        at.session.close()


def test_a_bug_that_no_connector_has_alone_is_raised() -> None:
    one = with_bad()
    with pytest.raises(ZeroDivisionError):
        plan_contained(replace(one, ownership=cast("Any", BadOwnership(one.ownership))))


class BadOwnership(dict[Any, Any]):
    def keys(self) -> NoReturn:
        raise ZeroDivisionError


class BadClient:
    cluster = CLUSTER

    def threads(self, count: int = 2) -> Executor:
        return ThreadPoolExecutor(count)

    def validate(self, _class: str, config: dict[str, str], **_more: Any) -> ConfigVerdict:
        if config["name"] == BAD:
            raise ZeroDivisionError("hunter2")
        return ConfigVerdict({}, frozenset(), frozenset(config))


def test_a_bug_in_the_validation_of_a_connector_blocks_only_this_one() -> None:
    options = ValidateOptions(ManualClock(), 60, lambda _: None)
    connectors = [wanted(name) for name in ("a", "bad", "c")]
    checked = plugin_validation.validate(cast("ConnectClient", BadClient()), connectors, options, ())
    assert checked.invalid == {BAD}
    (bug,) = checked.diagnostics
    assert (bug.rule, bug.connector) == (INTERNAL_ERROR, BAD)
    assert "hunter2" not in bug.summary


class BadEntries(tuple[Any, ...]):
    def __iter__(self) -> Iterator[Any]:
        raise MemoryError


def test_a_bug_in_the_check_of_a_manifest_blocks_only_this_change(tmp_path: Path) -> None:
    bad, good = change("bad", "a"), change("good", "c")
    bad = replace(bad, manifest=Manifest(Location("a.yaml", 7), BadEntries()))
    verdicts = ManifestVerdicts(cast("ManifestSource", Inline()), tmp_path)
    for one in (bad, good):
        verdicts.add(one, ManifestContext(one.connector), {})
    assert [one.rule for one in verdicts.diagnostics if one.connector == "a"] == [INTERNAL_ERROR]
    assert verdicts.offsets.keys() == {"bad", "good"}
    assert verdicts.offsets[bad.name] is None


class Inline:
    def manifest(self, offset_change: Any) -> Any:
        return offset_change.manifest


def test_a_bug_in_one_cluster_leaves_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    def work(cluster: ClusterName) -> str:
        if cluster == "b":
            raise ZeroDivisionError("oops")
        if cluster == "c":
            raise ConnectUnavailable("no answer")
        return cluster

    done, failures = each_cluster([ClusterName(name) for name in "abcd"], work)
    assert done == ["a", "d"]
    assert worst(failures) is ExitCode.BUG
    said = capsys.readouterr().err
    assert "cluster: b" in said
    assert "ZeroDivisionError: oops" in said
    assert "Please report it" in said


def test_the_trace_of_an_internal_error_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> NoReturn:
        raise ZeroDivisionError("oops")

    report_bugs(Diagnostics.of([contained(fail, Location("a.yaml", 3))]))
    said = capsys.readouterr().err
    assert "document: a.yaml:3:1" in said
    assert "in fail" in said


def test_an_error_of_a_server_is_no_bug() -> None:
    def fail() -> NoReturn:
        raise ConnectUnavailable

    with pytest.raises(ConnectUnavailable):
        contained(fail, Location("a.yaml"))


@dataclass
class Work:
    """A job that fails the first time."""

    runs: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        self.runs += 1
        if self.runs == 1:
            raise ZeroDivisionError("oops")
        self.done.set()


@pytest.mark.slow
def test_a_job_with_a_bug_runs_again(caplog: pytest.LogCaptureFixture) -> None:
    ended, changed, work = threading.Event(), threading.Condition(), Work()
    jobs = Jobs(1, ended, changed)
    jobs.start()
    try:
        jobs.run("job", work)
        jobs.hurry("job")
        assert work.done.wait(30)
        assert [record.message for record in caplog.records if record.exc_info] == ["bug"]
    finally:
        with changed:
            ended.set()
        jobs.end()
