"""OpenShift's `Template`: its objects, with the values that the parameters have in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.documents.encoding import Refused
from gitops_connect.documents.fields import items_of
from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.exchange.readers.reading import Findings, Part
from gitops_connect.exchange.readers.unknown_values import mark
from gitops_connect.model.documents import Document
from gitops_connect.model.sensitivity import is_sensitive_key

_REFERENCE = re.compile(r"\$\{\{(\w+)\}\}|\$\{(\w+)\}", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def is_template(part: Part) -> bool:
    version = str(part.get("apiVersion").value or "v1")
    is_kind = part.get("kind").value == "Template" and (version == "v1" or version.startswith("template.openshift.io/"))
    return is_kind and isinstance(part.get("objects").value, list)


def objects(part: Part, findings: Findings) -> Iterator[Document]:
    """The objects of a template. Parameters without a value, and those of secrets, are unknown. Raises Refused."""
    parameters = {name: one for one in part.get("parameters").items() if (name := one.get("name").text)}
    # The value of a secret is not used: in another place it is not recognized as one.
    texts = {name: one.get("value").text for name, one in parameters.items() if not is_sensitive_key(name)}
    known = {name: text for name, text in texts.items() if text is not None}
    values = _Substitution({**{name: mark(name) for name in parameters}, **known}, part).of(part.get("objects").value)
    if known:
        summary = f"the template is read with the values of its parameters {', '.join(sorted(known))}"
        hint = "if they are set elsewhere, convert the output of `oc process`"
        findings.warning("convert/default", summary, part.get("parameters").location, hint)
    yield from items_of(part.document, values, ("objects",))


class _Substitution:
    def __init__(self, known: Mapping[str, str], part: Part) -> None:
        self._known = known
        self._part = part
        self._left = MAX_SIZE

    def of(self, value: Any) -> Any:
        """The value with the known parameters. `${{NAME}}` as a whole string may be a number or a boolean."""
        if isinstance(value, Mapping):
            return {self._text(key): self.of(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.of(one) for one in value]
        if not isinstance(value, str):
            return value
        found = _REFERENCE.fullmatch(value)
        text = self._text(value)
        is_bare = found is not None and found[1] in self._known
        return _WORDS.get(text, int(text) if _INTEGER.fullmatch(text) else text) if is_bare else text

    def _text(self, text: str) -> str:
        def known(found: re.Match[str]) -> str:
            value = self._known.get(found[1] or found[2])
            if value is None:
                return found[0]
            self._left -= len(value)
            if self._left < 0:
                where = self._part.location
                raise Refused("document/too-large", "the objects of the template are too large", (where.line, 1))
            return value

        return _REFERENCE.sub(known, text)
