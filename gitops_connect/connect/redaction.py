"""The one place that takes secrets out of texts, before any of them becomes a message.

Connect quotes values in its errors ("Invalid value hunter2 for configuration database.password"), quotes whole configs
("Connector config {…} contains no connector type"), and plugins put them into stack traces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from gitops_connect.model.sensitivity import is_mask, is_reference, is_sensitive_key

MASK = "***"
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")
_SHORT = 4


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with each secret, and the user info of each URL, as `***`.

    A secret is also found without the blanks at its ends (Connect trims values), as JSON writes it, and as a URL does.
    One of fewer than four characters is only taken out where it stands by itself: elsewhere the holes would spell it.
    """
    for form in sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True):
        if len(form) >= _SHORT:
            text = text.replace(form, MASK)
        else:
            text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", MASK, text)
    return _USERINFO.sub(MASK + "@", text)


def _forms(secret: str) -> set[str]:
    plain = {secret, secret.strip()}
    return (plain | {json.dumps(form)[1:-1] for form in plain} | {quote(form, safe="") for form in plain}) - {""}


def sensitive_values(config: Mapping[str, str], sensitive: Iterable[str] = ()) -> frozenset[str]:
    """The values of a config that must not be shown: of the given keys, and of those whose names say so.

    Left out are masks, and references that the worker resolves (`${file:…}`): neither is a secret.
    """
    keys = {key for key in config if is_sensitive_key(key)} | {key for key in sensitive if key in config}
    return frozenset(config[key] for key in keys if not is_mask(config[key]) and not is_reference(config[key]))
