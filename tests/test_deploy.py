"""The alert rules and the dashboard of the chart use only metrics, labels and label values that the server exposes."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import promql_parser as promql
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from support.cluster.manual_clock import ManualClock
from support.docs.docs_pages import DOCS, ROOT, anchors
from support.files.tables import read_yaml
from support.planner.situations import CLUSTER
from support.server.made_up import made_up_state

from gitops_connect.errors import ConnectUnavailable
from gitops_connect.server.metrics import Metrics

FILES = ROOT / "deploy" / "helm" / "files"
PAGE = DOCS / "how-to" / "monitor-with-prometheus-and-grafana.md"
RULES: list[dict[str, Any]] = [
    rule for group in read_yaml(FILES / "prometheus-alerts.yaml")["groups"] for rule in group["rules"]
]
BOARD: dict[str, Any] = json.loads((FILES / "grafana-dashboard.json").read_text())
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
TARGET = {"job", "instance"}
"""Labels that Prometheus adds to every sample."""
IN_ANNOTATION = re.compile(r"\$labels\.(\w+)")
IN_LEGEND = re.compile(r"{{(\w+)}}")
LEADER = "gitops_connect_leader"
Exposed = Mapping[str, Mapping[str, set[str]]]
"""The values of each label of each metric."""


@cache
def exposed(*, at_start: bool = False) -> Exposed:
    """What the server exposes: before the first event, or after one event of each kind."""
    metrics = Metrics(made_up_state(ManualClock().now()), 10)
    if not at_start:
        metrics.reconciled(CLUSTER, ConnectUnavailable("no worker answers"), 1.0)
        metrics.event("step_applied", "info", {"cluster": CLUSTER, "action": "restart", "connector": "a"})
        metrics.event("note", "warning", {})
        metrics.webhooks.labels("github", "accepted")
    found: dict[str, dict[str, set[str]]] = {"up": {}}
    for family in text_string_to_metric_families(generate_latest(metrics.registry).decode()):
        for sample in family.samples:
            labels = found.setdefault(sample.name, defaultdict(set))
            for name, value in sample.labels.items():
                labels[name].add(value)
    for name in ("sync_status", "health_status"):  # not every state occurs in the made-up snapshot
        found["gitops_connect_connector_info"][name] |= found["gitops_connect_connectors"][name]
    return found


@cache
def parsed(expression: str) -> promql.Expr:
    """The expression. A variable of Grafana in a duration gets a value."""
    return promql.parse(expression.replace("$__rate_interval", "5m"))


def expressions() -> Iterator[tuple[str, promql.Expr]]:
    """Each expression with the name of its alert or panel."""
    for rule in RULES:
        yield rule["alert"], parsed(rule["expr"])
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], parsed(target["expr"])


def nodes(expression: promql.Expr, kind: type) -> list[Any]:
    found: list[Any] = []
    promql.walk(expression, lambda node: found.append(node) if isinstance(node, kind) else None)
    return found


def problems(selector: Any, metrics: Exposed) -> Iterator[str]:
    """The metric, labels and label values of a selector that do not exist."""
    if selector.name not in metrics:
        yield f"no metric {selector.name}"
        return
    labels = metrics[selector.name]
    for matcher in selector.matchers.matchers:
        if matcher.name not in labels.keys() | TARGET:
            yield f"{selector.name} has no label {matcher.name}"
        elif matcher.name not in TARGET and matcher.value != "$cluster":
            for value in set(matcher.value.split("|")) - labels[matcher.name]:
                yield f"no {selector.name} has {matcher.name}={value}"


def operands(expression: Any) -> list[Any]:
    match expression:
        case promql.BinaryExpr():
            return [expression.lhs, expression.rhs]
        case promql.Call():
            return list(expression.args)
        case promql.MatrixSelector():
            return [expression.vector_selector]
        case promql.AggregateExpr() | promql.ParenExpr():
            return [expression.expr]
    return []


def labels_of(expression: Any) -> set[str]:
    """The labels of the result: those of the first operand that has any."""
    if isinstance(expression, promql.VectorSelector):
        return set(exposed()[expression.name]) | TARGET
    if isinstance(expression, promql.AggregateExpr) and str(expression.op) != "topk":
        return set(expression.modifier.labels) if expression.modifier else set()
    return next((found for one in operands(expression) if (found := labels_of(one))), set())


def test_every_metric_and_label_exists() -> None:
    found = [
        f"{name}: {problem}"
        for name, expression in expressions()
        for selector in nodes(expression, promql.VectorSelector)
        for problem in problems(selector, exposed())
    ]
    assert found == []


def test_aggregations_are_by_labels_that_exist() -> None:
    for name, expression in expressions():
        for aggregation in nodes(expression, promql.AggregateExpr):
            if aggregation.modifier is not None:
                assert set(aggregation.modifier.labels) <= labels_of(aggregation.expr), (name, str(aggregation))


def test_texts_use_only_labels_of_their_result() -> None:
    for rule in RULES:
        assert set(IN_ANNOTATION.findall(str(rule["annotations"]))) <= labels_of(parsed(rule["expr"])), rule["alert"]
    for panel in PANELS:
        for target in panel["targets"]:
            used = set(IN_LEGEND.findall(target["legendFormat"]))
            assert used <= labels_of(parsed(target["expr"])), panel["title"]


def test_counters_of_alerts_exist_before_they_count() -> None:
    """`increase` ignores the first value of a new counter, so an alert would miss the first event."""
    increases = [
        matrix.vector_selector for rule in RULES for matrix in nodes(parsed(rule["expr"]), promql.MatrixSelector)
    ]
    assert increases
    for selector in increases:
        assert list(problems(selector, exposed(at_start=True))) == []


def test_only_the_leader_says_how_a_cluster_is() -> None:
    """A follower reads the clusters too, and a process that was the leader keeps what it last knew."""
    for name, expression in expressions():
        selectors = nodes(expression, promql.VectorSelector)
        gauges = [one for one in selectors if "cluster" in exposed()[one.name] and "_total" not in one.name]
        gauges = [one for one in gauges if not one.name.endswith("_bucket")]
        if gauges:
            assert sum(one.name == LEADER for one in selectors) == len(gauges), name


def test_every_alert_can_be_acted_upon() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(names) == len(set(names))
    for rule in RULES:
        assert promql.parse_duration(rule["for"]).total_seconds() >= 60, rule["alert"]
        assert rule["labels"].keys() == {"severity"}, rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule["alert"]
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}, rule["alert"]
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (ROOT / page).is_file(), rule["alert"]
        assert not anchor or anchor in anchors(ROOT / page), rule["alert"]


def test_the_page_lists_every_alert_with_its_severity() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [(rule["alert"], rule["labels"]["severity"]) for rule in RULES]


def test_every_panel_is_complete() -> None:
    assert {"Overview", "Reconciliations", "Changes", "Problems"} <= {panel["title"] for panel in BOARD["panels"]}
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["targets"], panel["title"]


def test_panels_do_not_overlap() -> None:
    squares = [
        (at["x"] + column, at["y"] + line)
        for at in (panel["gridPos"] for panel in BOARD["panels"])
        for column in range(at["w"])
        for line in range(at["h"])
    ]
    assert len(squares) == len(set(squares))
    assert max(column for column, _ in squares) < 24


def test_the_dashboard_works_with_any_data_source() -> None:
    """Nothing names a data source of one installation, and every `$` is a variable of the dashboard."""
    variables = {variable["name"]: variable for variable in BOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    sources = [one["datasource"] for panel in PANELS for one in (panel, *panel["targets"])]
    sources += [variable["datasource"] for variable in variables.values() if variable["type"] == "query"]
    assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(BOARD)))
    assert used == {*variables, "__rate_interval"}
    for variable in variables.values():
        if found := re.fullmatch(r"label_values\((.+), (\w+)\)", variable.get("definition", "")):
            selector = promql.parse(found[1])
            assert list(problems(selector, exposed())) == []
            assert found[2] in exposed()[selector.name].keys() | TARGET
