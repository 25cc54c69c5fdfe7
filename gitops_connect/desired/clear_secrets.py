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
    for pointer, value in scalars(document.value):
        kind = clear_secret(_key_of(pointer), document.texts.get(pointer, str(value)))
        if kind is not None:
            yield _warning(document, pointer, f"{'looks like' if kind == BY_KEY else 'contains'} {kind}")


def scalars(value: Any, pointer: Pointer = ()) -> Iterator[tuple[Pointer, object]]:
    """Every string, number and boolean at or below the pointer of the value, with its own pointer."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from scalars(one, (*pointer, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from scalars(one, (*pointer, index))
    elif value is not None:
        yield pointer, value


def _key_of(pointer: Pointer) -> str:
    """The key that may say what a value is. Names of offsets and annotations do not, such as `resume_token`."""
    if pointer == _SECRETS or pointer[0] == _METADATA or _OFFSETS in pointer:
        return ""
    return next((key for key in reversed(pointer) if isinstance(key, str)), "")


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
