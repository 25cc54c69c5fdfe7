"""`spec.version` on a real worker on which a plugin is installed in several versions (KIP-891)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from support.files.tables import rows
from support.plugins.builder import build_versions

from acceptance.workplace import Workplace
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]
CLASS = "org.example.fixtures.NumberSource"
INSTALLED = "1.0.0, 1.5.0, 2.0.0"


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    directory = tmp_path_factory.mktemp("versions")
    plugins = build_versions(directory, os.environ, INSTALLED.split(", "))
    options = SandboxOptions(directory / "sandbox", workers=1, heap=512, plugin_path=(plugins,), tied=True)
    with Sandbox.up(options) as sandbox:
        yield sandbox.worker_urls


def numbers(place: Workplace, spec: str = "", **config: str) -> str:
    return place.document("numbers", CLASS, spec, {"topic": "numbers", "interval.ms": "500", **config})


def plugin(place: Workplace) -> dict[str, str]:
    described = json.loads(place.run("describe", "connector", place.name("numbers"), "-o", "json").out)
    found: dict[str, str] = described[0]["Plugin"]
    return found


@pytest.mark.parametrize(("version", "running"), rows(__file__, "running"))
def test_the_declared_version_runs(at: Workplace, version: str, running: str) -> None:
    at.commit("numbers.yaml", numbers(at, f'version: "{version}"'))
    note = f"version of the plugin: declared: {version}, installed: {INSTALLED}"
    assert note in at.run("plan").out
    at.apply()
    assert plugin(at) == {
        "Class": CLASS,
        "Requested version": version,
        "Running version": running,
        "Installed versions": INSTALLED,
    }
    assert at.run("plan", "--detailed-exitcode").code == 0


def test_without_a_version_the_newest_runs_until_one_is_declared(at: Workplace) -> None:
    at.commit("numbers.yaml", numbers(at))
    assert f"several versions of {CLASS} are installed ({INSTALLED}), and Connect uses the newest" in at.run("plan").out
    at.apply()
    assert plugin(at)["Running version"] == "2.0.0"
    at.commit("numbers.yaml", numbers(at, 'version: "1.0.0"'))
    at.run("plan").expect(out=(f"declared: 1.0.0, installed: {INSTALLED}, running: 2.0.0", "connector.plugin.version"))
    at.apply()
    assert plugin(at)["Running version"] == "1.0.0"
    at.commit("numbers.yaml", numbers(at, **{"connector.plugin.version": "1.0.0"}))
    assert at.run("plan", "--detailed-exitcode").code == 0


@pytest.mark.parametrize(("version", "shown"), [("9", "version 9"), ("[3,)", "version in the range [3,)")])
def test_a_version_that_is_not_installed_is_never_sent(at: Workplace, version: str, shown: str) -> None:
    at.commit("numbers.yaml", numbers(at, f'version: "{version}"'))
    error = f"numbers.yaml:6:3: error: the worker has no {shown} of {CLASS} [connect/version-not-installed]"
    at.run("plan").expect(said=(error, f"use one of the installed versions: {INSTALLED}"))
    # Connect 4.3.1 answers 500 to each later validation.
    applied = at.run("apply", "--yes").expect(said=("[connect/version-not-installed]", INSTALLED))
    assert "numbers: create" not in applied.out
    assert at.states() == {}


def test_a_range_that_connect_rejects_is_never_sent(at: Workplace) -> None:
    at.commit("numbers.yaml", numbers(at, 'version: "[2.0,1.0]"'))
    assert "Range defies version ordering" in at.run("validate").out
    at.run("apply", "--yes")
    assert at.states() == {}


def test_versions_of_converters_are_usual_keys_and_an_imported_document_has_the_version(at: Workplace) -> None:
    converter = "org.apache.kafka.connect.storage.StringConverter"
    config = {"key.converter": converter, "value.converter": converter, "key.converter.plugin.version": '"[4,5)"'}
    at.commit("numbers.yaml", numbers(at, 'version: "[1.0,2.0)"', **config))
    assert "unknown-key" not in at.run("validate").out
    at.apply()
    assert at.states() == {"numbers": "RUNNING"}
    assert at.run("import", "--cluster", "local", "--out", str(at.directory / "imported")).code == 0
    (text,) = [one.read_text() for one in (at.directory / "imported").rglob(f"{at.name('numbers')}.yaml")]
    assert '  version: "[1.0,2.0)"\n' in text
    assert "connector.plugin.version" not in text
