"""Warns of secrets in clear text, in every field of a document. No warning repeats a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.masking import BY_KEY, clear_secret

_CONFIG = ("spec", "config")
_SECRETS = ("spec", "secrets")
_METADATA, _OFFSETS = "metadata", "offsets"


def check(document: Document) -> Iterator[Diagnostic]:
    """A warning for each value that is or contains a secret. The document may have other errors."""
    for pointer, kind in clear_secrets(document.value, document.texts):
        yield _warning(document, pointer, f"{'looks like' if kind == BY_KEY else 'contains'} {kind}")


def clear_secrets(
    value: Mapping[str, Any] | list[Any], texts: Mapping[Pointer, str], pointer: Pointer = (), key: str = ""
) -> Iterator[tuple[Pointer, str]]:
    """The place and the kind of each secret in a mapping or a list. `key` is the key of the list.

    The names of offsets and annotations do not say what a value is, such as `resume_token`.
    """
    is_named = not (pointer and (pointer[0] == _METADATA or _OFFSETS in pointer))
    for at, one in value.items() if isinstance(value, Mapping) else enumerate(value):
        name = at if isinstance(at, str) else key
        if isinstance(one, Mapping | list):
            yield from clear_secrets(one, texts, (*pointer, at), name)
        elif one is not None and not isinstance(one, bool):
            text = one if isinstance(one, str) else texts.get((*pointer, at), str(one))
            if (kind := clear_secret(name if is_named else "", text)) and (*pointer, at) != _SECRETS:
                yield (*pointer, at), kind


def _warning(document: Document, pointer: Pointer, found: str) -> Diagnostic:
    is_config, key = pointer[:2] == _CONFIG, pointer[-1]
    what, remedy = ".".join(map(str, pointer)), "remove it: only spec.config can refer to a secret"
    if is_config:
        own = "" if document.resource else f"spec.secrets: {{{key}: {{env: NAME}}}} or "
        what, remedy = f"the value of {key!r}", f"use {own}a ${{provider:...}} reference"
    return Diagnostic(
        Severity.WARNING,
        "connector/clear-secret" if is_config else "document/clear-secret",
        f"{what} {found}, in clear text in Git",
        document.locate(pointer),
        f"{remedy}, and rotate the secret",
        document.connector,
    )
