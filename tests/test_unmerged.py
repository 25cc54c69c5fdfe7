"""A revision that is not merged: its author causes no secret to be read, and sends nothing to Connect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from acceptance.workplace import Ran, Workplace
from standin.connect import StandIn
from standin.fixtures import standin
from support.files.tables import rows, table
from support.forge.memory_forge import PULL_REQUEST
from support.planner.situations import digest_of

from gitops_connect import secret_values
from gitops_connect.cli.options import unmerged_variable
from gitops_connect.connect.validation import Plugin, full_names
from gitops_connect.declare import Caches, declare
from gitops_connect.model.names import ClusterName
from gitops_connect.model.pull_requests import NotPlanned, PullRequestPlan
from gitops_connect.propose import ProposeOptions, propose
from gitops_connect.review.pull_request_plans import PullRequestPlanner
from gitops_connect.runtime import open_runtime, open_source
from gitops_connect.settings.settings_file import load_settings

__all__ = ["standin"]

pytestmark = pytest.mark.slow

LOCAL = ClusterName("local")
ALLOWED = '[secrets]\nenv = ["ORDERS_*"]'
PIN = "org.example.fixtures.PinSource"


@pytest.fixture
def at(standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    """A repository, and two secrets that no other test has."""
    for name in ("ORDERS_A", "ORDERS_B"):
        monkeypatch.setenv(name, f"{name}-{uuid4().hex}")
    workplace = Workplace(tmp_path, (standin.url,))
    workplace.settings(more=ALLOWED)
    yield workplace
    workplace.session.close()


def with_secret(at: Workplace, name: str = "ORDERS_A", **config: str) -> str:
    return at.source("orders", f"secrets: {{my.password: {{env: {name}}}}}", **config)


def untrusted(at: Workplace, *arguments: str) -> Ran:
    return at.run("plan", str(at.repository), "--untrusted", *arguments)


def create_by_hand(at: Workplace) -> None:
    """An unmanaged connector. Its `pin` is a PASSWORD by its type only."""
    config = {"connector.class": PIN, "tasks.max": "1", "pin": "4711-4711"}
    at.rest("POST", "/connectors", {"name": at.name("orders"), "config": config})


def review(at: Workplace, *documents: str, is_fork: bool = False) -> PullRequestPlan:
    """What is planned for a pull request with these documents. The secret B is not read."""
    at.commit("main.yaml", at.source("other"))
    at.git("switch", "--quiet", "--create", "topic")
    at.commit("a.yaml", *documents)
    settings = load_settings(at.directory / "gitops-connect.toml", {})
    with closing(open_runtime(settings)) as runtime, closing(PullRequestPlanner.of(runtime)) as planner:
        pull_request = replace(PULL_REQUEST, head_ref="refs/heads/topic", is_fork=is_fork)
        found = planner.plan(pull_request, timeout=60, known=[])
    require_unread()
    return found


def require_unread() -> None:
    assert not any("ORDERS_B-" in value for value in secret_values.values_read())


class TestNothingIsRead:
    @pytest.mark.parametrize("command", ["plan", "validate", "status", "explain connector orders --directory"])
    def test_by_a_command(self, at: Workplace, standin: StandIn, command: str) -> None:
        at.write("a.yaml", with_secret(at, "ORDERS_B"), at.source("broken", "state: 7\nsecrets: {p: {env: ORDERS_B}}"))
        at.run(*command.split(), str(at.repository), "--untrusted")
        require_unread()
        assert standin.count("PUT|POST|PATCH|DELETE") == 0

    def test_by_the_review_of_a_pull_request(self, at: Workplace, standin: StandIn) -> None:
        found = review(at, with_secret(at, "ORDERS_B", **{"batch.size": "many"}))
        assert [error.summary for error in found.diagnostics.errors] == [
            "batch.size: Invalid value many for configuration batch.size: Not a number of type INT"
        ]
        assert found.plans[0].untrusted
        assert standin.count("PUT|POST|PATCH|DELETE") == 0

    def test_by_a_pull_request_from_a_fork(self, at: Workplace, standin: StandIn) -> None:
        found = review(at, with_secret(at, "ORDERS_B"), at.source("broken", "state: 7"), is_fork=True)
        assert (found.not_planned, found.plans) == (NotPlanned.FORK, ())
        assert found.diagnostics.errors, "its documents are validated"
        assert standin.count(".*") == 0

    def test_the_settings_require_exactly_once_of_unmerged_documents_too(self, at: Workplace) -> None:
        at.settings(cluster='require_exactly_once = ["*"]', more=ALLOWED)
        found = review(at, at.source("orders"), is_fork=True)
        assert [one.rule for one in found.diagnostics.errors] == ["connector/exactly-once-required"] * 2
        said = "[clusters.local] require_exactly_once has '*'"
        at.run("validate", "--offline", str(at.repository)).expect(4, out=said)
        at.run("plan", str(at.repository)).expect(4, said=said)

    def test_not_even_whether_a_secret_exists_only_whether_it_is_allowed(self, at: Workplace) -> None:
        at.write("a.yaml", with_secret(at, "ORDERS_NOT_SET"), at.source("f", "secrets: {p: {file: /run/not-there}}"))
        assert untrusted(at).code == 0
        at.write("a.yaml", with_secret(at, "HOME"), at.source("f", "secrets: {p: {file: relative}}"))
        refused = ("the settings do not allow the environment variable HOME", "relative is not an absolute path")
        untrusted(at).expect(4, err=refused)


class TestConfigsAreCheckedHere:
    def test_values_and_unknown_keys(self, at: Workplace) -> None:
        problems = table(__file__, "problems")
        at.write(
            "a.yaml",
            *(at.source(f"orders-{number}", **{key: value}) for number, (key, value, _) in enumerate(problems)),
        )
        shown = untrusted(at).err
        assert [expected for _, _, expected in problems if expected not in shown] == [], shown

    def test_a_missing_key(self, at: Workplace) -> None:
        at.write("a.yaml", at.source("orders").replace("topic: lines", "tpic: lines"))
        missing = 'topic: Missing required configuration "topic" which has no default value.'
        out, err = (
            "its config has errors; fix them, so that the connector is created",
            (missing, "rename 'tpic' to 'topic'"),
        )
        untrusted(at).expect(4, out=out, err=err)

    def test_a_secret_counts_as_given_and_a_placeholder_is_not_checked(self, at: Workplace) -> None:
        spec = "secrets: {topic: {env: ORDERS_A}}"
        document = at.source("orders", spec, **{"batch.size": "${env:SIZE}"}).replace("    topic: lines\n", "")
        at.write("a.yaml", document)
        assert untrusted(at).code == 0

    def test_a_class_that_is_not_installed(self, at: Workplace) -> None:
        at.write("a.yaml", at.document("orders", "org.example.Nope", "", {"a": "b"}))
        untrusted(at).expect(err="the worker has no connector class 'org.example.Nope'")

    def test_a_worker_that_describes_nothing(self, at: Workplace, standin: StandIn) -> None:
        standin.cluster.version = "3.1.0"
        at.write("a.yaml", at.source("orders", **{"batch.size": "many"}))
        untrusted(at).expect(0, err="no worker describes its class, and Connect validates it only after the merge")
        assert standin.count("PUT") == 0

    def test_a_definition_is_read_once(self, at: Workplace, standin: StandIn) -> None:
        at.write("a.yaml", *(at.source(f"orders-{number}") for number in range(20)))
        untrusted(at)
        assert standin.count("GET", ".*FileStreamSourceConnector/config") == 1


class TestAllowedClasses:
    CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"

    @pytest.fixture(autouse=True)
    def _allowed(self, at: Workplace) -> None:
        at.settings(f'validate_unmerged = ["{self.CLASS}"]', ALLOWED)

    def test_are_sent_with_placeholders(self, at: Workplace, standin: StandIn) -> None:
        at.write("a.yaml", with_secret(at, **{"batch.size": "many"}))
        assert "Not a number of type INT" in untrusted(at).err
        (call,) = [one for one in standin.calls if one.method == "PUT"]
        assert call.body["my.password"] == "gitops-connect-placeholder"

    def test_a_placeholder_that_is_no_number_is_no_error(self, at: Workplace, standin: StandIn) -> None:
        at.write("a.yaml", at.source("orders", "secrets: {batch.size: {env: ORDERS_A}}"))
        untrusted(at).expect(0)
        assert standin.count("PUT") == 1

    def test_but_not_with_a_placeholder_of_a_config_provider(self, at: Workplace, standin: StandIn) -> None:
        file, values = str(at.directory / "in.txt"), ("${file:/etc/passwd:root}", "a${env:X}")
        at.write("a.yaml", *(at.source(f"orders-{len(one)}").replace(file, f'"{one}"') for one in values))
        assert untrusted(at).code == 0
        assert standin.count("PUT") == 0

    def test_and_no_other_class(self, at: Workplace, standin: StandIn) -> None:
        at.write("a.yaml", at.document("s", "FileStreamSource", "", {"file": "/a", "topic": "t"}))
        untrusted(at)
        assert standin.count("PUT") == 0


class TestSecretsAreCompared:
    def test_by_where_they_come_from(self, at: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
        at.deploy("a.yaml", with_secret(at))
        assert "No changes" in untrusted(at).out
        with monkeypatch.context() as rotated:
            rotated.setenv("ORDERS_A", "another-value")
            assert "No changes" in untrusted(at).out, "a rotated secret is not known before the merge"
            assert "1 to change" in at.run("plan").out
        at.write("a.yaml", with_secret(at, "ORDERS_B"))
        untrusted(at).expect(out="my.password: *** (before) -> *** (after)")
        require_unread()

    def test_a_value_that_was_changed_by_hand(self, at: Workplace) -> None:
        at.deploy("a.yaml", with_secret(at))
        path = f"/connectors/{at.name('orders')}/config"
        at.rest("PUT", path, {**at.config("orders"), "my.password": "by-hand"})
        ran = untrusted(at).expect(out="my.password: *** (before) -> *** (after)")
        assert "by-hand" not in ran.out + ran.err

    def test_a_connector_that_the_ledger_does_not_know(self, at: Workplace) -> None:
        create_by_hand(at)
        at.write("a.yaml", at.document("orders", PIN, "secrets: {pin: {env: ORDERS_A}}", {}).replace("  config:\n", ""))
        ran = untrusted(at).expect(out=("1 to adopt", "not compared, because no secret is read before the merge"))
        assert "4711" not in ran.out + ran.err

    def test_a_reviewed_plan_is_the_one_after_the_merge(self, at: Workplace) -> None:
        at.commit("a.yaml", with_secret(at))
        settings = load_settings(at.directory / "gitops-connect.toml", {})
        with closing(open_runtime(settings)) as runtime, closing(open_source(settings, None)) as source:
            declared = declare(source, [LOCAL], Caches())
            before = propose(runtime, declared, LOCAL, ProposeOptions(untrusted=True)).plan
            after = propose(runtime, declared, LOCAL).plan
        assert before.steps
        assert digest_of([before]) == digest_of([after])


class TestCurrentValuesOfTypePassword:
    @pytest.fixture
    def orders(self, at: Workplace) -> Workplace:
        create_by_hand(at)
        at.write("a.yaml", at.source("orders"))
        return at

    @pytest.mark.parametrize("cluster", ["", "connect_validate = false"])
    @pytest.mark.parametrize("more", [(), ("--untrusted",)])
    def test_are_masked(self, orders: Workplace, cluster: str, more: tuple[str, ...]) -> None:
        orders.settings(cluster, ALLOWED)
        ran = orders.run("plan", str(orders.repository), *more)
        assert re.search(r"pin: +\*\*\*", ran.out), ran.out
        assert "4711" not in ran.out + ran.err

    @pytest.mark.parametrize("more", [(), ("--untrusted",)])
    def test_if_no_worker_answers_what_they_are(
        self, orders: Workplace, standin: StandIn, more: tuple[str, ...]
    ) -> None:
        standin.refuse("PUT|GET", "/connector-plugins/.*/config.*", 500, "broken", times=99)
        ran = orders.run("plan", str(orders.repository), *more)
        assert "4711" not in ran.out + ran.err, ran

    def test_of_a_key_that_an_unmerged_document_declares(self, orders: Workplace, standin: StandIn) -> None:
        standin.refuse("GET", "/connector-plugins/.*/config.*", 500, "broken", times=99)
        orders.write("a.yaml", orders.document("orders", PIN, "", {"pin": "x"}))
        ran = untrusted(orders)
        assert "4711" not in ran.out + ran.err, ran


@pytest.mark.parametrize(("environment", "expected"), rows(__file__, "environments"))
def test_the_job_of_a_pull_request(environment: dict[str, str], expected: str | None) -> None:
    assert unmerged_variable(environment) == expected


class TestInAJobOfAPullRequest:
    @pytest.fixture(autouse=True)
    def _job(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI_MERGE_REQUEST_IID", "7")

    def test_a_plan_is_untrusted(self, at: Workplace, standin: StandIn) -> None:
        at.write("a.yaml", with_secret(at))
        note = "note: CI_MERGE_REQUEST_IID is set: the documents are not merged"
        at.run("plan", str(at.repository)).expect(err=note, out="not merged: no secret was read")
        assert standin.count("PUT") == 0
        assert "not merged" not in at.run("plan", str(at.repository), "--trusted").out
        assert standin.count("PUT") == 1

    def test_no_secret_is_read_to_say_what_is_next(self, at: Workplace, standin: StandIn) -> None:
        at.commit("a.yaml", with_secret(at, "ORDERS_B"))
        at.run("resume", "connector", at.name("orders")).expect(err=("the documents are not merged", "Next on local: "))
        at.run("explain", "connector", at.name("orders")).expect(err="the documents are not merged")
        require_unread()
        assert standin.count("PUT|POST|PATCH|DELETE") == 0

    def test_no_secret_of_the_directory_of_the_settings_is_read_to_mask(self, at: Workplace) -> None:
        at.run("apply", "--yes", "--trusted").expect(0)
        file = at.directory / "gitops-connect.toml"
        file.write_text(file.read_text().replace('url = "repository"', ""))
        documents = at.directory / "clusters" / "local"
        documents.mkdir(parents=True)
        (documents / "a.yaml").write_text(with_secret(at, "ORDERS_B"))
        at.run("describe", "connector", at.name("orders"))
        require_unread()

    def test_nothing_is_applied_from_the_directory_of_the_settings(self, at: Workplace, standin: StandIn) -> None:
        file = at.directory / "gitops-connect.toml"
        file.write_text(file.read_text().replace('url = "repository"', ""))
        (at.directory / "clusters").mkdir()
        at.run("apply", "--yes").expect(64, err="apply them after the merge, or apply them anyway with --trusted")
        assert standin.count("POST|PUT") == 0
        at.run("apply", "--yes", "--trusted").expect(0)

    def test_nothing_is_applied(self, at: Workplace, standin: StandIn) -> None:
        at.write("a.yaml", with_secret(at))
        hint = "apply them after the merge, or apply them anyway with --trusted"
        at.run("apply", str(at.repository), "--yes").expect(64, err=hint)
        assert standin.count("POST|PUT") == 0
        at.run("apply", str(at.repository), "--yes", "--trusted").expect(0)


def test_a_short_name_of_two_classes_means_none() -> None:
    plugins = [Plugin(name, "source", "1") for name in ("a.XConnector", "b.XConnector", "X")]  # type: ignore[arg-type]
    assert full_names(plugins) == {"a.XConnector": "a.XConnector", "b.XConnector": "b.XConnector", "X": "X"}
