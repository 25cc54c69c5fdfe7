"""Connectors in the forms of Connect's REST API, as people keep them for curl, kcctl and connectctl.

- `{"name": …, "config": {…}}`: the body of POST `/connectors`, and the answer of GET `/connectors/NAME`
- `{"connector.class": …, …}`: the body of PUT `/connectors/NAME/config`
- `{"NAME": {"info": {…}}}`: the answer of GET `/connectors?expand=info`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitops_connect.documents.fields import CLASS, NAME
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat
from gitops_connect.exchange.readers.reading import Findings, Part, add_config, state_of, warn_of_unknown

_BODY = (NAME, "config", "initial_state", "tasks", "type")
"""Fields of `CreateConnectorRequest` and `ConnectorInfo`. The last two say what the worker made of the config."""
_NO_TARGET = ("FAILED", "UNASSIGNED", "RESTARTING")
_NO_NAME = "add a field `name`"
STDIN = "-"


def read(part: Part, findings: Findings) -> bool:
    """Read the part if it has one of the forms. Returns whether it has."""
    value = part.value
    if not isinstance(value, Mapping):
        return False
    if _is_body(value):
        _read_body(part, findings)
    elif CLASS in value:
        _read_flat(part, findings)
    elif value and all(isinstance(one, Mapping) and isinstance(one.get("info"), Mapping) for one in value.values()):
        for _, one in part.fields():
            _read_expanded(one, findings)
    else:
        return False
    return True


def _is_body(value: Mapping[str, Any]) -> bool:
    """Whether this is a connector with its config, also if the config has no class."""
    config = value.get("config")
    if not isinstance(config, Mapping):
        return False
    return CLASS in config or (NAME in value and not any(isinstance(one, list | dict) for one in config.values()))


def _read_body(part: Part, findings: Findings) -> ConnectorDeclaration | None:
    name = part.get(NAME).text or part.get("config", NAME).text or findings.given
    draft = findings.draft(name, FileFormat.JSON, part.location, hint=_NO_NAME)
    warn_of_unknown(part, _BODY, "a connector in JSON", findings)
    if draft is None:
        return None
    draft = replace(draft, state=state_of(part.get("initial_state"), findings))
    add_config(draft, part.get("config"), findings)
    findings.declare(draft)
    return draft


def _read_flat(part: Part, findings: Findings) -> None:
    name = findings.given or part.get(NAME).text or _name_of_file(part, findings)
    draft = findings.draft(name, FileFormat.JSON, part.location, hint=_NO_NAME)
    if draft is not None:
        add_config(draft, part, findings)
        findings.declare(draft)


def _name_of_file(part: Part, findings: Findings) -> str:
    """The name of the file without suffix: with kcctl, and with curl, the name is not in the file."""
    path = part.document.location.file
    name = path.rpartition("/")[2].partition(".")[0]
    if path == STDIN or part.pointer or not name:
        return ""
    summary = f"the connector has no name: it is called {name!r}, as the file is"
    findings.warning("convert/name", summary, part.location, "add a field `name` if this is not the connector's name")
    return name


def _read_expanded(part: Part, findings: Findings) -> None:
    """One entry of GET `/connectors`, with the target state if `?expand=status` shows it."""
    state = part.get("status", "connector", "state")
    draft = _read_body(part.get("info"), findings)
    if draft is None or not findings.declarations or not isinstance(state.value, str):
        return
    if state.value in _NO_TARGET:
        summary = f"the connector was {state.value}, which does not show its target state: `running` is assumed"
        findings.warning("convert/state", summary, state.location, "set the state in the new file")
        return
    if findings.declarations[-1] is draft:
        findings.declarations[-1] = replace(draft, state=state_of(state, findings))
