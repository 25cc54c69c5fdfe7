"""`gitops-connect import`: it writes what the cluster has, except its secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from acceptance.workplace import MIRROR, SINK, SOURCE, Ran, Workplace
from exchange.writers import HOSTILE, texts
from hypothesis import example, given
from hypothesis import strategies as st
from standin.connect import StandIn
from standin.raw_answers import ALWAYS
from support.files.tables import rows, table

from gitops_connect.documents.fields import connector_of
from gitops_connect.documents.yaml import parse
from gitops_connect.exchange.connector_documents import UniqueNames, file_stems, variable_name
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat
from gitops_connect.exchange.document_text import render
from gitops_connect.model.desired import DesiredConnector, SecretReference, SecretSource, TargetState
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.observe import MAX_HELD

EU = ClusterName("eu")
keys = st.one_of(
    st.sampled_from(
        ["a.b", "true", "1", "1.10", "~", "null", "a:b", "- a", "#", "ä", "<<", "x,y", "'", '"', "\U0001f600"]
    ),
    st.from_regex(r"[a-z][a-z.:_=-]{0,12}", fullmatch=True),
).filter(lambda key: key not in {"name", "connector.class", "tasks.max"})
tasks = st.sampled_from(["1", "8", "2147483647", "2147483648", "0", "04", "-1", "", "many", "1.0", "٣"])


def read_back(text: str) -> DesiredConnector:
    parsed = parse(Blob("orders.yaml", "", text.encode()))
    assert not parsed.diagnostics, text
    (document,) = parsed.documents
    return connector_of(document)


def document(config: dict[str, str], name: str = "orders", **more: Any) -> ConnectorDeclaration:
    return ConnectorDeclaration(ConnectorName(name), FileFormat.JSON, Location(""), config, cluster=EU, **more)


def variable(name: str) -> SecretReference:
    return SecretReference(SecretSource.ENV, name)


@given(config=st.dictionaries(keys, texts, max_size=4), tasks_max=tasks, state=st.sampled_from(list(TargetState)))
@example(config={f"key{number}": text for number, text in enumerate(HOSTILE)}, tasks_max="1", state=TargetState.PAUSED)
def test_a_document_is_read_back_as_it_was(config: dict[str, str], tasks_max: str, state: TargetState) -> None:
    whole = {"connector.class": SOURCE, "tasks.max": tasks_max, **config}
    written = render(document(whole, state=state))
    found = read_back(written)
    assert (found.config, found.state) == (whole, state)
    assert all(line == line.rstrip() for line in written.split("\n")), "editors remove whitespace at line ends"


@given(name=texts.filter(bool), variable_name=st.sampled_from(["A_B", "NO", "Y", "_1"]))
def test_the_name_and_the_secrets_are_read_back_as_they_were(name: str, variable_name: str) -> None:
    secrets = {"a.password": variable(variable_name)}
    found = read_back(render(document({}, name, secrets=secrets)))
    assert (found.name, found.secrets) == (name, secrets)


def test_a_document_is_what_people_write() -> None:
    config = {"tasks.max": "2", "connector.class": SINK, "topics": "orders", "batch.size": "500", "query": "a\nb\n"}
    written = render(document(config, secrets={"a.password": variable("ORDERS_A_PASSWORD")}, note="a note"))
    assert written == (
        f"# a note\napiVersion: gitops-connect/v1\nkind: Connector\nmetadata:\n  name: orders\n  cluster: eu\n"
        f"spec:\n  class: {SINK}\n  tasksMax: 2\n  state: running\n  config:\n"
        '    batch.size: "500"\n    query: |\n      a\n      b\n    topics: orders\n'
        "  secrets:\n    a.password: {env: ORDERS_A_PASSWORD}\n"
    )


@given(names=st.sets(texts.filter(bool).map(ConnectorName), max_size=8))
@example(
    names={ConnectorName(name) for name in ("a/b", "a-b", "A-B", "a-b-2", "..", "../../x", ".hidden", "\U0001f600")}
)
def test_every_connector_has_a_safe_file_of_its_own(names: set[ConnectorName]) -> None:
    stems = file_stems(names)
    assert stems.keys() == names
    assert len({stem.lower() for stem in stems.values()}) == len(names)
    for stem in stems.values():
        assert Path(f"x/{stem}.yaml").parent == Path("x")
        assert stem.isascii()
        assert not stem.startswith((".", "-"))
        assert len(stem) < 210


def test_a_connector_whose_name_is_a_file_name_keeps_it() -> None:
    stems = file_stems([ConnectorName(name) for name in ("a b", "a-b", "east->west.MirrorSourceConnector")])
    assert stems == {
        "a-b": "a-b",
        "a b": "a-b-2",
        "east->west.MirrorSourceConnector": "east--west.MirrorSourceConnector",
    }


def test_names_of_variables() -> None:
    assert variable_name("orders-sink", "connection.password") == "ORDERS_SINK_CONNECTION_PASSWORD"
    assert variable_name("1st", "ä.password") == "_1ST___PASSWORD"
    assert variable_name("gitops-connect", "password") == "_GITOPS_CONNECT_PASSWORD"
    unique = UniqueNames(["A"])
    assert [unique.choose("A", "_"), unique.choose("A", "_"), unique.choose("B", "_")] == ["A_2", "A_3", "B"]


@pytest.fixture
def out(at: Workplace) -> Path:
    return at.repository / "clusters" / "local"


def create(standin: StandIn, name: str, state: str | None = None, **config: str) -> None:
    standin.cluster.create(name, {"connector.class": SOURCE, "topic": "lines", "tasks.max": "1", **config}, state)


def imported(at: Workplace, *options: str) -> Ran:
    return at.run("import", "--out", str(at.repository), *options)


def require_adopted(at: Workplace, *names: str) -> None:
    """Commit what was imported: its plan adopts exactly these connectors, and sends no request to Connect."""
    at.commit_all()
    assert at.run("validate").code == 0
    (cluster,) = json.loads(at.run("plan", "-o", "json").out)["clusters"]
    changes = cluster["resource_changes"]
    assert sorted(one["name"] for one in changes) == sorted(names)
    assert {(step["action"], step["endpoint"]) for one in changes for step in one["steps"]} == {("adopt", None)}
    assert sorted(cluster["adopted"]) == sorted(names)


@pytest.mark.slow
class TestTheCommand:
    def test_what_is_a_secret(self, at: Workplace, standin: StandIn, out: Path) -> None:
        """Masks, keys of transforms and converters, and all values of a plugin that no worker has; no references."""
        kept = {"a.password": "${file:/run/db:password}", "b.password": "", "key.converter.pin": "1"}
        kept["key.converter"] = "org.apache.kafka.connect.storage.StringConverter"
        part = "org.apache.kafka.connect.json.JsonConverter"
        standin.answer("GET", f"/connector-plugins/{part}/config.*", 200, [{"name": "pin", "type": "PASSWORD"}])
        parts = ("transforms.a", "predicates.b", "value.converter")
        classes = {"transforms.a.type": part, "predicates.b.type": part, "value.converter": part}
        shown = {
            "shown": "********",
            "x.basic.auth.user.info": "me:hunter22",
            **{f"{one}.pin": "4711" for one in parts},
        }
        create(standin, "orders", **kept, **classes, **shown)
        standin.cluster.create("pin", {"connector.class": "org.example.fixtures.PinSource", "pin": "4711"}, None)
        create(standin, "gone", file="hunter22")
        standin.cluster.connectors["gone"].config["connector.class"] = "org.example.Gone"
        ran = imported(at).expect(0, err="no worker has its plugin")
        found = read_back((out / "orders.yaml").read_text())
        assert kept.items() <= found.config.items()
        assert found.secrets.keys() == shown.keys()
        assert found.secrets["x.basic.auth.user.info"].name == "ORDERS_X_BASIC_AUTH_USER_INFO"
        assert '"ORDERS_SHOWN",  # orders: shown' in ran.out
        assert '"PIN_PIN",  # pin: pin' in ran.out
        gone = read_back((out / "gone.yaml").read_text())
        assert gone.config == {"connector.class": "org.example.Gone", "tasks.max": "1"}
        assert not [one for one in ("hunter22", "4711") for file in out.iterdir() if one in file.read_text()]

    def test_a_failed_connector_counts_as_running(self, at: Workplace, standin: StandIn, out: Path) -> None:
        standin.cluster.create("mirror", {"connector.class": MIRROR, "source.cluster.alias": "a"}, None)
        at.await_that(
            lambda: at.rest("GET", "/connectors/mirror/status"), lambda one: one["connector"]["state"] == "FAILED"
        )
        ran = imported(at)
        written = (out / "mirror.yaml").read_text()
        assert written.startswith("# The connector was FAILED, which does not show its target state.")
        assert "state: running" in written
        assert "note: connector mirror: The connector was FAILED" in ran.err

    def test_only_the_selected_connectors_of_a_named_cluster_and_never_over_a_file(
        self, at: Workplace, standin: StandIn, out: Path
    ) -> None:
        for name in ("orders-a", "orders-b", "parcels", "returns"):
            create(standin, name)
        assert imported(at, "--selector", "orders-*", "--selector", "returns").code == 0
        assert sorted(file.name for file in out.iterdir()) == ["orders-a.yaml", "orders-b.yaml", "returns.yaml"]
        ran = imported(at, "--selector", "orders-*", "--selector", "oders", "--force")
        assert (ran.code, ran.err) == (1, "error: cluster local has no connector that matches 'oders'\n")
        (out / "parcels.yaml").write_text("# mine\n")
        imported(at).expect(64, err="parcels.yaml exists already")
        assert imported(at, "--force").code == 0
        assert "kind: Connector" in (out / "parcels.yaml").read_text()
        create(standin, "clear", **{"my.password": "x"})
        at.settings(more='[clusters.other]\nurl = ["http://127.0.0.1:1"]')
        imported(at).expect(64, err="choose one of local, other with --cluster")
        assert '"LOCAL_CLEAR_MY_PASSWORD"' in imported(at, "--cluster", "local", "--force").out

    def test_a_second_import_writes_only_what_no_file_declares(
        self, at: Workplace, standin: StandIn, out: Path
    ) -> None:
        declared = ["a->b.MirrorSourceConnector", "json", "moved", "mirrored", "no-cluster", "odd", "resource"]
        for name in (*declared, "IMP-SRC", "orders"):
            create(standin, name, **{"my.password": "x"})
        elsewhere = table(__file__, "repository")
        for path, text in elsewhere.items():
            at.write(path, text)
        ran = imported(at).expect(0, err=f"Skipped {len(declared)} connectors that the repository declares already")
        assert "and 2 more" in ran.err
        assert sorted(one.name for one in out.glob("*.yaml")) == ["IMP-SRC.yaml", "list.yaml", "orders.yaml"]
        assert '"ORDERS_MY_PASSWORD_2",' in ran.out, "another connector has the first one"
        for name in ("imp-src", "Orders"):
            create(standin, name, "STOPPED", topic="new")
        imported(at).expect(0, err=["Wrote 2 connectors", "Skipped 9 connectors"])
        assert (read_back((out / "imp-src-2.yaml").read_text())).name == "imp-src"
        orders = out / "orders.yaml"
        whole = orders.read_text()
        orders.write_text(whole.replace("topic: lines", "topic: other"))
        imported(at, "--force").expect(0, err=["Wrote 4 connectors", "Skipped 7 connectors"])
        assert (orders.read_text(), read_back((out / "imp-src-2.yaml").read_text()).name) == (whole, "imp-src")
        orders.write_text(f"{whole}---\n{whole.replace('orders', 'another')}")
        imported(at, "--force").expect(0, err=["Wrote 3 connectors", "Skipped 8 connectors"])
        assert {path: (at.repository / path).read_text() for path in elsewhere} == elsewhere
        at.commit_all()
        assert "two-owners" not in at.run("validate").out

    def test_files_that_cannot_be_read_are_mentioned(self, at: Workplace, standin: StandIn, out: Path) -> None:
        create(standin, "orders")
        at.write("clusters/local/orders.yaml", "apiVersion: gitops-connect/v1\nkind: [")
        ran = imported(at).expect(64, err="orders.yaml exists already")
        assert f"note: `gitops-connect validate {at.repository}` lists files that cannot be read" in ran.err
        assert imported(at, "--force").code == 0
        assert read_back((out / "orders.yaml").read_text()).name == "orders"

    def test_a_file_gets_a_number_only_if_another_file_has_its_name(
        self, at: Workplace, standin: StandIn, out: Path
    ) -> None:
        for name in ("imp-src", "IMP-SRC"):
            create(standin, name)
        assert imported(at, "--selector", "imp-src").code == 0
        assert [file.name for file in out.iterdir()] == ["imp-src.yaml"]
        assert imported(at).code == 0
        assert sorted(file.name for file in out.iterdir()) == ["IMP-SRC-2.yaml", "imp-src.yaml"]

    def test_a_connector_that_cannot_be_written_is_named(self, at: Workplace, standin: StandIn, out: Path) -> None:
        for name, more in (("orders", {}), ("a/b", {}), ("odd", {"": "x"})):
            create(standin, name, **more)
        standin.cluster.create("mirror", {"connector.class": MIRROR, "source.cluster.alias": "a"}, "STOPPED")
        body = standin.cluster.expanded(["status", "info"]) | {"broken": {"status": None, "info": None}}
        standin.answer("GET", r"/connectors\?expand.*", 200, body, times=ALWAYS)
        standin.refuse("GET", r"/connector-plugins/.*Mirror.*/config.*", 403, "Forbidden", times=ALWAYS)
        ran = imported(at)
        assert (ran.code, [file.name for file in out.iterdir()]) == (1, ["orders.yaml"])
        for problem in (
            "a/b: '/' at position 2 cannot be sent in a path of Connect's REST API; no",
            "odd: its document would be invalid",
            "broken: the workers did not report its state and config",
            "mirror: cannot determine which config keys are passwords",
        ):
            assert f"error: connector {problem}" in ran.err

    def test_a_config_key_that_no_document_can_have_is_left_out_and_ignored(
        self, at: Workplace, standin: StandIn, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        odd = ["a key", "a*[\tpassword=hunter22", "\x7f", "k" * 1001]
        create(standin, "odd", **dict.fromkeys(odd, "x"), **{"a.b": "x", "my.password": "hunter22"})
        create(standin, "orders")
        ran = imported(at).expect(0, err="warning: connector odd: a config key cannot be declared")
        assert ran.err.count("warning: ") == len(odd)
        assert "U+0020 (SPACE) at position 2" in ran.err
        text = (out / "odd.yaml").read_text()
        assert "hunter22" not in ran.err + ran.out + text
        assert read_back(text).config["a.b"] == "x"
        at.settings(more=ran.out)
        monkeypatch.setenv("ODD_MY_PASSWORD", "hunter22")
        require_adopted(at, "odd", "orders")

    @pytest.mark.parametrize(
        ("name", "what"),
        [
            *((name, "no request can change") for name in ("a/b", "a%2Fb", "a\\b")),
            ("a{b", "create it under another name"),
        ],
    )
    def test_what_to_do_about_a_connector_that_connect_cannot_address(
        self, at: Workplace, standin: StandIn, name: str, what: str
    ) -> None:
        create(standin, name)
        remedy = f"{name[1]!r} at position 2 cannot be sent in a path of Connect's REST API; {what}"
        imported(at).expect(1, err=remedy)
        at.run("plan").expect(0, out=f"warning: connector {name}: {remedy}")
        at.run("status").expect(out=["Unmanaged", remedy])

    def test_json_is_the_body_of_a_request(self, at: Workplace, standin: StandIn, out: Path) -> None:
        create(standin, "orders", "STOPPED", **{"my.password": "hunter22", "file": "\U0001f600\n"})
        create(standin, "parcels")
        ran = imported(at, "--format", "json")
        assert (ran.code, ran.out) == (0, "${env:ORDERS_MY_PASSWORD}  # orders: my.password\n")
        config = {"connector.class": SOURCE, "tasks.max": "1", "topic": "lines"}
        assert json.loads((out / "orders.json").read_text()) == {
            "name": "orders",
            "config": {**config, "my.password": "${env:ORDERS_MY_PASSWORD}", "file": "\U0001f600\n"},
            "initial_state": "STOPPED",
        }
        assert json.loads((out / "parcels.json").read_text()) == {"name": "parcels", "config": config}

    def test_offsets_are_manifests(self, at: Workplace, standin: StandIn, out: Path) -> None:
        create(standin, "orders", "STOPPED", file="in.txt")
        create(standin, "fresh", "STOPPED", file="in.txt")
        create(standin, "secret", "STOPPED", file="in.txt")
        entry = {"partition": {"filename": "in.txt"}, "offset": {"position": 20}}
        at.rest("PATCH", "/connectors/orders/offsets", {"offsets": [entry]})
        standin.refuse("GET", "/connectors/secret/offsets", 403, "Forbidden", times=ALWAYS)
        imported(at, "--with-offsets").expect(1, err="error: connector secret: its offsets could not be read")
        assert sorted(file.name for file in out.glob("*.yaml")) == ["fresh.yaml", "orders.yaml", "secret.yaml"]
        assert [file.name for file in (out / "offsets").iterdir()] == ["orders.jsonl"]
        assert json.loads((out / "offsets" / "orders.jsonl").read_text()) == entry

    def test_offsets_that_do_not_fit_into_memory_are_streamed(self, at: Workplace, standin: StandIn, out: Path) -> None:
        create(standin, "orders", "STOPPED", file="in.txt")
        count = MAX_HELD // 150
        entries = [{"partition": {"filename": f"{number:0150}"}, "offset": {"position": 1}} for number in range(count)]
        standin.answer("GET", "/connectors/orders/offsets", 200, {"offsets": entries})
        assert imported(at, "--with-offsets").code == 0
        (file,) = (out / "offsets").iterdir()
        with file.open() as lines:
            assert [json.loads(line) for line in lines] == entries


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["", 'strimzi = ["here/kc", "my-connect"]'])
def test_the_plan_of_imported_resources_only_adopts(at: Workplace, standin: StandIn, cluster: str) -> None:
    at.settings(cluster)
    create(standin, "orders", **{f"x.{number}": text for number, text in enumerate(HOSTILE)})
    create(standin, "paused.orders", "PAUSED")
    create(standin, "stopped", "STOPPED", **{"connector.plugin.version": "4.3.0"})
    standin.cluster.create("tasks", {"connector.class": SOURCE, "topic": "lines"}, None)
    imported(at, "--format", "strimzi").expect(0, out="")
    assert "tasksMax" not in (at.repository / "clusters" / "local" / "tasks.yaml").read_text()
    text = (at.repository / "clusters" / "local" / "stopped.yaml").read_text()
    assert f"strimzi.io/cluster: {'my-connect' if cluster else 'local'}\n" in text
    assert "  state: stopped\n  version: " in text
    require_adopted(at, "orders", "paused.orders", "stopped", "tasks")


@pytest.mark.slow
def test_secrets_become_references_that_the_workers_of_strimzi_have(at: Workplace, standin: StandIn) -> None:
    create(standin, "orders", **{"my.password": "hunter22"})
    ran = imported(at, "--format", "strimzi")
    assert (ran.code, ran.out) == (0, "${strimzienv:ORDERS_MY_PASSWORD}  # orders: my.password\n")
    text = (at.repository / "clusters" / "local" / "orders.yaml").read_text()
    assert 'my.password: "${strimzienv:ORDERS_MY_PASSWORD}"' in text
    assert "hunter22" not in text + ran.out + ran.err


@pytest.mark.slow
def test_what_cannot_be_a_resource_is_named(at: Workplace, standin: StandIn) -> None:
    create(standin, "orders")
    expected = []
    for name, config, problem in rows(__file__, "no resources"):
        create(standin, name, **config)
        expected.append(f"error: connector {name}: {problem}")
    imported(at, "--format", "strimzi").expect(1, err=expected)
    assert [file.name for file in (at.repository / "clusters" / "local").iterdir()] == ["orders.yaml"]
