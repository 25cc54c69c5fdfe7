"""Families of installed packages: the package of the how-to guide, as it is on the page, and packages with errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from support.docs.docs_pages import DOCS, code
from support.files.manifests import entry, offsets
from support.files.tables import rows
from support.planner.situations import change, seen, situation, wanted
from support.spark.large_engine import Case, by_small, filed, in_process, jsonl, said_by_large
from support.spark.services import executors_python, running, standalone, without_class_archive

from gitops_connect.errors import UsageError
from gitops_connect.families import ENTRY_POINTS
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.model.diagnostics import INTERNAL_ERROR
from gitops_connect.model.differences import Direction
from gitops_connect.plan.planner import plan_contained
from gitops_connect.plan.situation import OffsetSituation
from gitops_connect.runtime import with_installed
from gitops_connect.sandbox.jars import CACHE_VARIABLE
from gitops_connect.spark import executor_modules

pytestmark = pytest.mark.slow

TIME = re.compile(r"\d+\.\d s")
GUIDE = {block.language: block for block in code(DOCS / "how-to" / "add-a-connector-family.md") if block.comment}
CONFIG = {"connector.class": "com.acme.connect.AcmeQueueSourceConnector", "acme.queue": "orders"}
DOCUMENT = """\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {name: queue, cluster: local}
spec:
  class: com.acme.connect.AcmeQueueSourceConnector
  config: {acme.queue: orders}
"""


def install(directory: Path, source: str, project: str = GUIDE["ini"].text) -> None:
    """Install a package as pip does: its module, and the metadata of its project."""
    found = tomllib.loads(project)["project"]
    name, version = found["name"].replace("-", "_"), found["version"]
    metadata = directory / f"{name}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {found['name']}\nVersion: {version}\n")
    points = found["entry-points"][ENTRY_POINTS]
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    (metadata / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{lines}")
    (directory / f"{name}.py").write_text(source)


def installed(directory: Path) -> Registry:
    found = distributions(path=[str(directory)])
    return with_installed(BUILT_IN, [one for each in found for one in each.entry_points.select(group=ENTRY_POINTS)])


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    directory = tmp_path / "packages"
    directory.mkdir()
    monkeypatch.syspath_prepend(directory)
    yield directory
    sys.modules.pop("acme_queue", None)


@pytest.fixture
def acme(packages: Path) -> Registry:
    install(packages, GUIDE["python"].text)
    return installed(packages)


def ticket(queue: Any, number: Any) -> dict[str, Any]:
    return entry({"queue": queue}, {"ticket": number})


def test_the_module_of_the_guide_is_short() -> None:
    assert len(GUIDE["python"].text.splitlines()) <= 50


def test_both_engines_check_the_classes_of_a_package(acme: Registry, tmp_path: Path) -> None:
    """With a fast pattern and without."""
    slow = replace_kinds(acme)
    values = [ticket("orders", f"AQ-{n}") for n in (5,)] + [ticket(f"o{n}", f"AQ-{n}") for n in range(30)]
    wrong = [ticket("orders", "aq-1"), ticket("orders", 7), ticket("orders", None), {"partition": {"queue": "orders"}}]
    current = offsets(ticket("orders", "AQ-9"))
    for number, (families, listed) in enumerate(
        (each, some) for each in (acme, slow) for some in (values[:1], values + wrong)
    ):
        case = Case(jsonl(listed), CONFIG, current, families=families)
        small = by_small(case)
        (verdict,) = in_process([filed(case, tmp_path / str(number))])
        assert said_by_large(verdict) == replace(small, diagnostics=verdict.diagnostics.items)
        assert sorted(map(str, verdict.diagnostics)) == sorted(map(str, small.diagnostics))
    assert small.counts == {"manifest/server": 30, "manifest/type": 3, "manifest/no-offset": 1, "manifest/conflict": 3}


def replace_kinds(families: Registry, **changes: Any) -> Registry:
    """The registry with other types in the offsets of the installed family; without changes, the slow path."""
    *known, family = families.families
    ((name, one),) = family.classes.items()
    assert one.shape is not None
    kinds = {key: replace(kind, **({"fast_pattern": None} | changes)) for key, kind in one.shape.offset.types.items()}
    shape = replace(one.shape, offset=replace(one.shape.offset, required=kinds))
    return replace(families, families=(*known, replace(family, classes={name: replace(one, shape=shape)})))


def test_a_distance_is_counted_in_the_unit_of_the_package(acme: Registry, tmp_path: Path) -> None:
    case = Case(jsonl([ticket("orders", "AQ-5")]), CONFIG, offsets(ticket("orders", "AQ-9")), families=acme)
    (verdict,) = in_process([filed(case, tmp_path / "m")])
    assert by_small(case).distances == {Direction.REWIND: 4}
    assert verdict.difference is not None
    assert verdict.difference.scale.amount(verdict.difference.distances[Direction.REWIND]) == "4 tickets"


def test_the_plan_uses_the_other_parts_of_the_family(acme: Registry) -> None:
    before, after = seen("queue", config=CONFIG), wanted("queue", config={**CONFIG, "acme.queue": "parcels"})
    _, made = plan_contained(replace(situation([after], [before], owned=["queue"]), families=acme))
    (effect,) = [one for step in made.steps for one in step.offset_effects]
    assert effect.message.startswith('the offsets of queue "orders" are no longer read')
    assert list(acme.undefined_keys(CONFIG["connector.class"])) == ["acme.client.*"]


def broken(value: Any) -> bool:
    raise ZeroDivisionError(value)


def broken_later(value: Any) -> bool:
    """A bug that the first lines of a manifest do not show."""
    return True if value != "AQ-5000" else broken(value)


@pytest.mark.parametrize("accepts", [broken, broken_later])
def test_a_bug_in_a_package_blocks_only_its_manifests(acme: Registry, tmp_path: Path, accepts: Any) -> None:
    families = replace_kinds(acme, accepts=accepts)
    case = Case(jsonl(ticket("orders", f"AQ-{n}") for n in range(6000)), CONFIG, {}, families=families)
    other = Case(jsonl([entry({"file": "a"}, {"at": 1})]), {"connector.class": "com.example.Other"}, {})
    bad, good = in_process([filed(case, tmp_path / "bad"), filed(other, tmp_path / "good")], split_size=20_000)
    (bug,) = bad.diagnostics
    assert (bug.rule, bug.summary) == (
        INTERNAL_ERROR,
        "internal error: a bug (ZeroDivisionError) prevents the processing of this document",
    )
    assert bug.bug is not None
    assert "in broken\n" in bug.bug.__notes__[0]
    assert bad.errors == 1
    assert bad.difference is None
    assert not good.diagnostics
    assert good.entries == 1


def test_a_bug_in_a_package_while_planning_blocks_only_its_connectors(acme: Registry) -> None:
    families = replace_kinds(acme, rank=broken)
    offset_change, current = change("again", "queue"), offsets(ticket("orders", "AQ-9"))
    declared = [wanted("queue", config=CONFIG), wanted("other", config={"file": "/a"})]
    given = situation(declared, [seen("queue", config=CONFIG)], owned=["queue"], changes=[offset_change])
    shape = families.shape(CONFIG)
    assert shape is not None
    known = OffsetSituation(
        manifests={offset_change.name: offsets(ticket("orders", "AQ-5"))},
        current={offset_change.connector: current},
        shapes={offset_change.connector: shape},
    )
    _, made = plan_contained(replace(given, families=families, offsets=known))
    assert [one.rule for one in made.diagnostics.errors] == [INTERNAL_ERROR]
    assert {step.connector for step in made.steps} == {"other"}


@pytest.mark.parametrize(("source", "said"), rows(__file__, "wrong"))
def test_a_package_that_cannot_be_used_is_an_error_with_its_name(packages: Path, source: Any, said: str) -> None:
    guide = GUIDE["python"].text
    if isinstance(source, dict):
        ((old, new),) = source.items()
        assert old in guide
        source = guide.replace(old, new)
    install(packages, source.replace("<GUIDE>", guide))
    with pytest.raises(UsageError, match=r"^the connector family 'acme' of acme-queue 1\.0 ") as error:
        installed(packages)
    assert said in str(error.value)


def test_the_modules_of_packages_are_sent_to_executors(packages: Path, tmp_path: Path) -> None:
    install(packages, GUIDE["python"].text)
    names = zipfile.ZipFile(executor_modules.packed(tmp_path)).namelist()
    assert "acme_queue.py" in names
    assert "gitops_connect/families/__init__.py" in names


def checked(directory: Path, *more: str, spark: str = "") -> str:
    install(directory / "packages", GUIDE["python"].text)
    (directory / "connectors").mkdir()
    (directory / "connectors" / "queue.yaml").write_text(DOCUMENT)
    (directory / "offsets.jsonl").write_text(GUIDE["json"].text)
    (directory / "gitops-connect.toml").write_text(f"[spark]\nmin_size = 0\n{spark}")
    program, command = GUIDE["sh"].text.split(maxsplit=1)
    ran = subprocess.run(
        [Path(sys.executable).with_name(program), *command.split(), *more],
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": str(directory / "packages"),
            CACHE_VARIABLE: str(without_class_archive(directory / "cache")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_the_guide_shows_what_the_program_prints(tmp_path: Path) -> None:
    printed, page = (TIME.sub("N s", text) for text in (checked(tmp_path), GUIDE["text"].text))
    assert printed == page


@pytest.mark.timeout(300)
def test_spark_checks_the_classes_of_a_package(tmp_path: Path) -> None:
    """In other processes, which import the package."""
    said = checked(tmp_path, "--report", str(tmp_path / "report"))
    assert "2 errors (1 manifest/server, 1 manifest/type)" in said
    assert "on Spark" in said


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_executors_of_a_cluster_check_the_classes_of_a_package(tmp_path: Path) -> None:
    """They get the package from the process that checks."""
    with running(standalone(tmp_path / "place", executors_python(tmp_path / "python"))) as place:
        options = "".join(f'"{name}" = "{value}"\n' for name, value in place.options.items())
        spark = f'master = "{place.master}"\ndirectory = "{tmp_path}"\n[spark.options]\n{options}'
        said = checked(tmp_path, "--report", str(tmp_path / "report"), spark=spark)
    assert "2 errors (1 manifest/server, 1 manifest/type)" in said
    assert f"on Spark ({place.master})" in said
