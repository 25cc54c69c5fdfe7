"""The OpenAPI document of the API. A test compares each answer with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitops_connect import __version__
from gitops_connect.model.conditions import ConditionStatus, ConditionType
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.operations import OperationKind, OperationState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action
from gitops_connect.model.status import Health, Sync
from gitops_connect.model.suspensions import SuspendedBy
from gitops_connect.server.outcomes import WORDS

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(kind: Any) -> Schema:
    return {"type": "string", "enum": [one.value for one in kind]}


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _counts(kind: Any) -> Schema:
    return _object(**{one.value: COUNT for one in kind})


def _named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _with(base: Schema, **more: Schema) -> Schema:
    return _object(**base["properties"], **more)


CONDITION = _object(
    cluster=TEXT,
    connector={**TEXT, "description": "Empty: the condition of the cluster itself."},
    type=_one_of(ConditionType),
    status=_one_of(ConditionStatus),
    reason=TEXT,
    message=TEXT,
    lastTransitionTime=TIME,
    observedCommit=TEXT,
)
SUSPENSION = _object(
    by=_one_of(SuspendedBy),
    whole_cluster=FLAG,
    who=_or_null(TEXT),
    since=_or_null(TIME),
    reason=_or_null(TEXT),
)
REPOSITORY = _object(
    revision=_or_null(TEXT),
    author=TEXT,
    subject=TEXT,
    documents=COUNT,
    errors=COUNT,
    warnings=COUNT,
    error={**TEXT, "description": "Why the last poll failed; empty if it succeeded."},
    polled=_or_null(TIME),
)
CLUSTER = _object(
    cluster=TEXT,
    connect_version=_or_null(TEXT),
    desired=_or_null(TEXT),
    applied=_or_null(TEXT),
    observed=_or_null(TIME),
    next={**_or_null(TIME), "description": "Null while a reconciliation is in progress."},
    error={**TEXT, "description": "Why the last reconciliation failed as a whole; empty if it did not."},
    connectors=COUNT,
    attention={**COUNT, "description": "Connectors that are not in sync, or not healthy."},
    sync=_counts(Sync),
    health=_counts(Health),
    drifted=_list(TEXT),
    suspension=_or_null(_named("Suspension")),
    conditions=_list(_named("Condition")),
)
CONNECTOR = _object(
    cluster=TEXT,
    name=TEXT,
    sync=_one_of(Sync),
    health=_one_of(Health),
    state=TEXT,
    tasks={**TEXT, "description": "RUNNING tasks and all tasks, such as 3/4."},
    since=_or_null(TIME),
    message=TEXT,
    suspension=_or_null(_named("Suspension")),
    reason=TEXT,
    needs_attention=FLAG,
)
STEP = _object(
    id={
        **_or_null(COUNT),
        "description": "The id in the journal and in the log. Null if it was not recorded.",
    },
    connector=TEXT,
    action=_one_of(Action),
    offset_change=_or_null(TEXT),
    result=_one_of(Result),
    reason=TEXT,
    message=TEXT,
    seconds=NUMBER,
    finished=_or_null(TIME),
)
JOURNAL_STEP = _object(
    id=COUNT,
    cluster=TEXT,
    at=TIME,
    commit=TEXT,
    author=TEXT,
    connector=TEXT,
    action=_one_of(Action),
    offset_change=_or_null(TEXT),
    result=_one_of(Result),
    reason=TEXT,
    message=TEXT,
    seconds=NUMBER,
)
OPERATION = _object(
    cluster=TEXT,
    name=TEXT,
    connector=TEXT,
    operation=_one_of(OperationKind),
    state=_one_of(OperationState),
    since=TIME,
    commit=TEXT,
    failures=COUNT,
    final=FLAG,
    message=TEXT,
    warning=TEXT,
    entries=_or_null(COUNT),
    sent=_or_null(COUNT),
)
_OFFSETS = _object(
    counts={"type": "object", "additionalProperties": COUNT},
    complete={**FLAG, "description": "Whether all partitions are listed."},
    moves=_list(_object(partition={}, before={}, after={})),
)
DIAGNOSTIC = _object(
    cluster=_or_null(TEXT),
    severity=_one_of(Severity),
    rule=TEXT,
    summary=TEXT,
    hint=TEXT,
    connector=_or_null(TEXT),
    file=TEXT,
    line=COUNT,
    column=COUNT,
)
RESTARTS = _object(
    count=COUNT, last=_or_null(TIME), limit=_or_null(COUNT), next=_or_null(TIME), gave_up=FLAG, why_not=TEXT
)
RESULT = _object(
    cluster=TEXT,
    result={"type": "string", "enum": list(WORDS)},
    commit=_or_null(TEXT),
    planned=COUNT,
    errors={**COUNT, "description": "Errors in the documents."},
    steps=_list(_named("Step")),
    error={**TEXT, "description": "The class of the error; empty without one."},
    message=TEXT,
)
PROBLEM = _object(title=TEXT, status=COUNT, detail=TEXT)
SCHEMAS = {
    "Condition": CONDITION,
    "Repository": REPOSITORY,
    "Cluster": CLUSTER,
    "Connector": CONNECTOR,
    "Step": STEP,
    "Suspension": SUSPENSION,
    "JournalStep": JOURNAL_STEP,
    "Operation": OPERATION,
    "Diagnostic": DIAGNOSTIC,
    "Restarts": RESTARTS,
    "Result": RESULT,
    "Problem": PROBLEM,
}


def _parameter(name: str, schema: Schema, description: str, where: str = "query") -> Schema:
    return {"name": name, "in": where, "required": where == "path", "schema": schema, "description": description}


_CLUSTER = _parameter("cluster", TEXT, "Only this cluster.")
_CONNECTOR = _parameter("connector", TEXT, "Only this connector.")
_LIMIT = _parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}, "How many entries.")
_IN_CLUSTER = _parameter("cluster", TEXT, "The name of the cluster.", "path")


def _operation(summary: str, answer: Schema, parameters: Sequence[Schema] = (), code: str = "200") -> Schema:
    problem = {"content": {"application/problem+json": {"schema": _named("Problem")}}, "description": "A problem."}
    content = {"application/json": {"schema": answer}}
    return {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {code: {"description": "The answer.", "content": content}, "default": problem},
    }


_CONNECTOR_PATH = _parameter("connector", TEXT, "The name of the connector.", "path")
_CHANGE_PATH = _parameter("operation", TEXT, "The name of the offset change.", "path")
_REQUEST_PATH = _parameter("number", COUNT, "The number of the request.", "path")
_FILTER = [
    _CLUSTER,
    _parameter("sync", _one_of(Sync), "Only connectors with this state."),
    _parameter("health", _one_of(Health), "Only connectors with this health."),
    _parameter("attention", FLAG, "Only connectors that are not in sync, or not healthy."),
    _parameter("search", TEXT, "Words of the name, state, reason or message."),
]
_STATE = _parameter("state", _one_of(OperationState), "Only offset changes in this state.")
_BEFORE = _parameter("before", COUNT, "Only steps before this id: `next` of the previous page.")
STATUS = _object(snapshot=COUNT, is_leader=FLAG, repository=_named("Repository"), clusters=_list(_named("Cluster")))
CONNECTOR_DETAILS = _with(
    CONNECTOR,
    conditions=_list(_named("Condition")),
    restarts=_named("Restarts"),
    operations=_list(_named("Operation")),
    journal=_list(_named("JournalStep")),
)
PROGRESS = _object(
    request=COUNT,
    polled={**FLAG, "description": "Whether the repository was polled since the request."},
    finished=FLAG,
    repository_error=TEXT,
    results=_list(_named("Result")),
)
PLAN: Schema = {"type": "object", "description": "The document of `plan -o json`: schemas/plan.schema.json."}
OPERATIONS = _object(total=COUNT, operations=_list(_named("Operation")))
STEPS = _object(steps=_list(_named("JournalStep")), next=_or_null(COUNT))


def _paths() -> Schema:
    request = _operation(
        "Poll the repository, then reconcile. Needs the token.",
        _object(request=COUNT, clusters=_list(TEXT)),
        [_CLUSTER],
        "202",
    )
    of_cluster, of_connector = "/clusters/{cluster}", "/clusters/{cluster}/connectors/{connector}"
    of_change = "/clusters/{cluster}/operations/{operation}"
    change, offsets = "One offset change, with its offsets before and after.", _or_null(_OFFSETS)
    gets: dict[str, tuple[str, Schema, list[Schema]]] = {
        "/status": ("The repository and all clusters.", STATUS, []),
        "/clusters": ("All clusters.", _object(clusters=_list(_named("Cluster"))), []),
        of_cluster: ("One cluster.", _with(CLUSTER, steps=_list(_named("Step"))), [_IN_CLUSTER]),
        f"{of_cluster}/plan": ("The last plan of a cluster.", PLAN, [_IN_CLUSTER]),
        "/connectors": ("Connectors.", _object(connectors=_list(_named("Connector"))), _FILTER),
        of_connector: ("One connector.", CONNECTOR_DETAILS, [_IN_CLUSTER, _CONNECTOR_PATH]),
        "/operations": ("Offset changes in the ledger.", OPERATIONS, [_CLUSTER, _CONNECTOR, _STATE, _LIMIT]),
        of_change: (change, _with(OPERATION, offsets=offsets), [_IN_CLUSTER, _CHANGE_PATH, _LIMIT]),
        "/journal": ("Steps, the newest first.", STEPS, [_CLUSTER, _CONNECTOR, _BEFORE, _LIMIT]),
        "/conditions": ("Conditions.", _object(conditions=_list(_named("Condition"))), [_CLUSTER, _CONNECTOR]),
        "/diagnostics": ("Problems of the documents.", _object(diagnostics=_list(_named("Diagnostic"))), []),
        "/reconcile/{number}": ("The results of a request to reconcile.", PROGRESS, [_REQUEST_PATH, _CLUSTER]),
        "/openapi.json": ("This document.", {"type": "object"}, []),
    }
    paths: Schema = {path: {"get": _operation(*parts)} for path, parts in gets.items()}
    return {**paths, "/reconcile": {"post": {**request, "security": [{"token": []}]}}}


def document() -> Schema:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "gitops-connect", "version": __version__},
        "servers": [{"url": "/api/v1"}],
        "security": [{}, {"token": []}, {"password": []}],
        "paths": _paths(),
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic"},
            },
        },
    }
