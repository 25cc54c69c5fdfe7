"""The OpenAPI document of the API. A test compares each answer with it."""

from __future__ import annotations

from collections.abc import Sequence

from gitops_connect import __version__
from gitops_connect.model.operations import OperationState
from gitops_connect.model.status import Health, Sync
from gitops_connect.server.api_schemas import (
    CLUSTER,
    CONNECTOR_DETAILS,
    COUNT,
    FLAG,
    OFFSETS,
    OPERATION,
    OPERATIONS,
    PLAN,
    PROGRESS,
    PULL_REQUEST_DETAILS,
    PULL_REQUESTS,
    SCHEMAS,
    STATUS,
    STEPS,
    TEXT,
    Schema,
    closed_object,
    extended,
    list_of,
    named,
    one_of,
    or_null,
)


def _parameter(name: str, schema: Schema, description: str, where: str = "query") -> Schema:
    return {"name": name, "in": where, "required": where == "path", "schema": schema, "description": description}


_CLUSTER = _parameter("cluster", TEXT, "Only this cluster.")
_CONNECTOR = _parameter("connector", TEXT, "Only this connector.")
_LIMIT = _parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}, "How many entries.")
_IN_CLUSTER = _parameter("cluster", TEXT, "The name of the cluster.", "path")


def _operation(summary: str, answer: Schema, parameters: Sequence[Schema] = (), code: str = "200") -> Schema:
    problem = {"content": {"application/problem+json": {"schema": named("Problem")}}, "description": "A problem."}
    content = {"application/json": {"schema": answer}}
    return {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {code: {"description": "The answer.", "content": content}, "default": problem},
    }


_CONNECTOR_PATH = _parameter("connector", TEXT, "The name of the connector.", "path")
_CHANGE_PATH = _parameter("operation", TEXT, "The name of the offset change.", "path")
_REQUEST_PATH = _parameter("number", COUNT, "The number of the request.", "path")
_PULL_REQUEST_PATH = _parameter("number", COUNT, "The number of the pull request.", "path")
_FILTER = [
    _CLUSTER,
    _parameter("sync", one_of(Sync), "Only connectors with this state."),
    _parameter("health", one_of(Health), "Only connectors with this health."),
    _parameter("attention", FLAG, "Only connectors that are not in sync, or not healthy."),
    _parameter("search", TEXT, "Words of the name, state, reason or message."),
]
_STATE = _parameter("state", one_of(OperationState), "Only offset changes in this state.")
_BEFORE = _parameter("before", COUNT, "Only steps before this id: `next` of the previous page.")


def _paths() -> Schema:
    request = _operation(
        "Poll the repository, then reconcile. Needs the token.",
        closed_object(request=COUNT, clusters=list_of(TEXT)),
        [_CLUSTER],
        "202",
    )
    of_cluster, of_connector = "/clusters/{cluster}", "/clusters/{cluster}/connectors/{connector}"
    of_change, of_pull_request = "/clusters/{cluster}/operations/{operation}", "/pull-requests/{number}"
    change, offsets = "One offset change, with its offsets before and after.", or_null(OFFSETS)
    gets: dict[str, tuple[str, Schema, list[Schema]]] = {
        "/status": ("The repository and all clusters.", STATUS, []),
        "/clusters": ("All clusters.", closed_object(clusters=list_of(named("Cluster"))), []),
        of_cluster: ("One cluster.", extended(CLUSTER, steps=list_of(named("Step"))), [_IN_CLUSTER]),
        f"{of_cluster}/plan": ("The last plan of a cluster.", PLAN, [_IN_CLUSTER]),
        "/connectors": ("Connectors.", closed_object(connectors=list_of(named("Connector"))), _FILTER),
        of_connector: ("One connector.", CONNECTOR_DETAILS, [_IN_CLUSTER, _CONNECTOR_PATH]),
        "/operations": ("Offset changes in the ledger.", OPERATIONS, [_CLUSTER, _CONNECTOR, _STATE, _LIMIT]),
        of_change: (change, extended(OPERATION, offsets=offsets), [_IN_CLUSTER, _CHANGE_PATH, _LIMIT]),
        "/journal": ("Steps, the newest first.", STEPS, [_CLUSTER, _CONNECTOR, _BEFORE, _LIMIT]),
        "/conditions": ("Conditions.", closed_object(conditions=list_of(named("Condition"))), [_CLUSTER, _CONNECTOR]),
        "/diagnostics": ("Problems of the documents.", closed_object(diagnostics=list_of(named("Diagnostic"))), []),
        "/pull-requests": ("The open pull requests that were reviewed.", PULL_REQUESTS, []),
        of_pull_request: ("What merging a pull request would do.", PULL_REQUEST_DETAILS, [_PULL_REQUEST_PATH]),
        f"{of_pull_request}/plan": ("The plan of a pull request.", PLAN, [_PULL_REQUEST_PATH]),
        "/reconcile/{number}": ("The results of a request to reconcile.", PROGRESS, [_REQUEST_PATH, _CLUSTER]),
        "/openapi.json": ("This document.", {"type": "object"}, []),
    }
    paths: Schema = {path: {"get": _operation(*parts)} for path, parts in gets.items()}
    review = _operation("Review the open pull requests. Needs the token.", closed_object(forge=TEXT), (), "202")
    changes = {"/reconcile": request, "/pull-requests/review": review}
    posts = {path: {"post": {**operation, "security": [{"token": []}]}} for path, operation in changes.items()}
    return {**paths, **posts}


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
