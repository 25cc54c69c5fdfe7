"""The JSON schemas of the API's answers."""

from __future__ import annotations

from typing import Any

from gitops_connect.model.conditions import ConditionStatus, ConditionType
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.operations import OperationKind, OperationState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action
from gitops_connect.model.reviews import CommitState
from gitops_connect.model.status import Health, Sync
from gitops_connect.model.suspensions import SuspendedBy
from gitops_connect.server.outcomes import WORDS

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}


def or_null(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(items: Schema) -> Schema:
    """A list of such values."""
    return {"type": "array", "items": items}


def one_of(kind: Any) -> Schema:
    """A value of an enum."""
    return {"type": "string", "enum": [one.value for one in kind]}


def closed_object(**properties: Schema) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _counts(kind: Any) -> Schema:
    return closed_object(**{one.value: COUNT for one in kind})


def named(name: str) -> Schema:
    """A reference to one of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def extended(base: Schema, **more: Schema) -> Schema:
    """The object with more properties."""
    return closed_object(**base["properties"], **more)


CONDITION = closed_object(
    cluster=TEXT,
    connector={**TEXT, "description": "Empty: the condition of the cluster itself."},
    type=one_of(ConditionType),
    status=one_of(ConditionStatus),
    reason=TEXT,
    message=TEXT,
    lastTransitionTime=TIME,
    observedCommit=TEXT,
)
SUSPENSION = closed_object(
    by=one_of(SuspendedBy),
    whole_cluster=FLAG,
    who=or_null(TEXT),
    since=or_null(TIME),
    reason=or_null(TEXT),
)
REPOSITORY = closed_object(
    revision=or_null(TEXT),
    author=TEXT,
    subject=TEXT,
    documents=COUNT,
    errors=COUNT,
    warnings=COUNT,
    error={**TEXT, "description": "Why the last poll failed; empty if it succeeded."},
    polled=or_null(TIME),
)
CLUSTER = closed_object(
    cluster=TEXT,
    connect_version=or_null(TEXT),
    desired=or_null(TEXT),
    applied=or_null(TEXT),
    observed=or_null(TIME),
    next={**or_null(TIME), "description": "Null while a reconciliation is in progress."},
    error={**TEXT, "description": "Why the last reconciliation failed as a whole; empty if it did not."},
    connectors=COUNT,
    attention={**COUNT, "description": "Connectors that are not in sync, or not healthy."},
    sync=_counts(Sync),
    health=_counts(Health),
    drifted=list_of(TEXT),
    suspension=or_null(named("Suspension")),
    conditions=list_of(named("Condition")),
)
CONNECTOR = closed_object(
    cluster=TEXT,
    name=TEXT,
    sync=one_of(Sync),
    health=one_of(Health),
    state=TEXT,
    tasks={**TEXT, "description": "RUNNING tasks and all tasks, such as 3/4."},
    since=or_null(TIME),
    message=TEXT,
    suspension=or_null(named("Suspension")),
    reason=TEXT,
    needs_attention=FLAG,
)
STEP = closed_object(
    id={
        **or_null(COUNT),
        "description": "The id in the journal and in the log. Null if it was not recorded.",
    },
    connector=TEXT,
    action=one_of(Action),
    offset_change=or_null(TEXT),
    result=one_of(Result),
    reason=TEXT,
    message=TEXT,
    seconds=NUMBER,
    finished=or_null(TIME),
)
JOURNAL_STEP = closed_object(
    id=COUNT,
    cluster=TEXT,
    at=TIME,
    commit=TEXT,
    author=TEXT,
    connector=TEXT,
    action=one_of(Action),
    offset_change=or_null(TEXT),
    result=one_of(Result),
    reason=TEXT,
    message=TEXT,
    seconds=NUMBER,
)
OPERATION = closed_object(
    cluster=TEXT,
    name=TEXT,
    connector=TEXT,
    operation=one_of(OperationKind),
    state=one_of(OperationState),
    since=TIME,
    commit=TEXT,
    failures=COUNT,
    final=FLAG,
    message=TEXT,
    warning=TEXT,
    entries=or_null(COUNT),
    sent=or_null(COUNT),
)
OFFSETS = closed_object(
    counts={"type": "object", "additionalProperties": COUNT},
    complete={**FLAG, "description": "Whether all partitions are listed."},
    moves=list_of(closed_object(partition={}, before={}, after={})),
)
DIAGNOSTIC = closed_object(
    cluster=or_null(TEXT),
    severity=one_of(Severity),
    rule=TEXT,
    summary=TEXT,
    hint=TEXT,
    connector=or_null(TEXT),
    file=TEXT,
    line=COUNT,
    column=COUNT,
)
RESTARTS = closed_object(
    count=COUNT, last=or_null(TIME), limit=or_null(COUNT), next=or_null(TIME), gave_up=FLAG, why_not=TEXT
)
RESULT = closed_object(
    cluster=TEXT,
    result={"type": "string", "enum": list(WORDS)},
    commit=or_null(TEXT),
    planned=COUNT,
    errors={**COUNT, "description": "Errors in the documents."},
    steps=list_of(named("Step")),
    error={**TEXT, "description": "The class of the error; empty without one."},
    message=TEXT,
)
PULL_REQUEST = closed_object(
    number=COUNT,
    title=TEXT,
    author=TEXT,
    url=TEXT,
    target={**TEXT, "description": "The branch that it is merged to."},
    head={**TEXT, "description": "The commit that was planned."},
    state=one_of(CommitState),
    summary=TEXT,
    errors={**COUNT, "description": "Errors in the documents."},
    digest=or_null(TEXT),
    reviewed={**TIME, "description": "When the review had this result for the first time."},
)
APPROVAL = closed_object(digest=TEXT, who=TEXT, at=TIME, place=TEXT)
PROBLEM = closed_object(title=TEXT, status=COUNT, detail=TEXT)
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
    "PullRequest": PULL_REQUEST,
    "Approval": APPROVAL,
    "Problem": PROBLEM,
}
STATUS = closed_object(
    snapshot=COUNT, is_leader=FLAG, repository=named("Repository"), clusters=list_of(named("Cluster"))
)
CONNECTOR_DETAILS = extended(
    CONNECTOR,
    conditions=list_of(named("Condition")),
    restarts=named("Restarts"),
    autoRestart={
        **or_null(closed_object(count=COUNT, connectorName=TEXT, lastRestartTimestamp=TEXT)),
        "description": "The automatic restarts in the words of Strimzi's status; null if there were none.",
    },
    operations=list_of(named("Operation")),
    journal=list_of(named("JournalStep")),
)
PROGRESS = closed_object(
    request=COUNT,
    polled={**FLAG, "description": "Whether the repository was polled since the request."},
    finished=FLAG,
    repository_error=TEXT,
    results=list_of(named("Result")),
)
PULL_REQUESTS = closed_object(
    forge={**or_null(TEXT), "description": "The kind of the forge. Null: pull requests are not reviewed."},
    is_leader={**FLAG, "description": "Only the leader reviews pull requests; other replicas list none."},
    pull_requests=list_of(named("PullRequest")),
)
PULL_REQUEST_DETAILS = extended(
    PULL_REQUEST,
    comment={**TEXT, "description": "The comment on the pull request, as Markdown."},
    text={**TEXT, "description": "The plan as `gitops-connect plan` prints it. Empty if there is none."},
    diagnostics=list_of(named("Diagnostic")),
    approvals=list_of(named("Approval")),
)
PLAN: Schema = {"type": "object", "description": "The document of `plan -o json`: schemas/plan.schema.json."}
OPERATIONS = closed_object(total=COUNT, operations=list_of(named("Operation")))
STEPS = closed_object(steps=list_of(named("JournalStep")), next=or_null(COUNT))
