"""Which config keys hold a secret, judged by their names, and which values only refer to a secret or replace one."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9.]")
"""What separates the words of a name. Kafka writes a dot there: `api_key`, `api-key` and `apiKey` are `api.key`."""
_SENSITIVE_KEY = re.compile(
    r"""
      passw(?:or)?d(?!less) | passphrase | passcode | secret(?!s?\.?manager) | credential
    | (?:token|pwd)s?[0-9]*(?=\.|$)          # `accesstoken` and `dbpwd`, too, but no `tokenizer`
    | (?:^|\.)(?:db|database|user|ssl|key|keystore|trust|truststore|admin|client|proxy|login)?pass$
    | (?:^|\.)(?:pw|jwt)$                    # words, but no `jwt.claim.name`
    # Keys that encrypt, sign or open an account. Other words are before the keys of records, tables and converters.
    | (?:account|access|api|auth|cipher\.data|customer|encryption|function|hmac|master|private|sas|secret|shared
        |sign|signing|storage)\.?keys?(?=\.|$)
    | (?:consumer|subscription|license|keystore)\.key$ | confluent\.license$ | key\.?file$
    | sasl\.jaas\.config | auth\.user\.info | kerberos\.ticket$
    | (?:^|\.)(?:authorization|cookies?)$ | webhook(?:\.ur[il])?$
    """,
    re.VERBOSE,
)
_NOT_SENSITIVE = re.compile(
    r"""
    # The last word tells that the value is the place, the form or the lifetime of a secret, or the URL that issues it.
    (?:(?<!webhook)\.|passwd|password|secret|token|credentials?)
    (?:address|algorithm|alias|arn|audience|class|client\.id|columns?|count|days|delimiter|dir|directory|enabled?|encoding
      |endpoint|external\.id|fields?|(?<!key\.)file|filename|format|host|hours|interval|iterations|length|limit|location
      |max|min|mode|ms|name|path|pattern|policy|port|profile|property|provider|region|regex|required|role|scope|seconds
      |separator|size|source|strategy|table|timeout|topics?|ttl|type|ur[il]|version)$
    # The name of a key in a key service. `access.key.id` is no such name, but a half of the credentials of AWS.
    | (?:customer|encryption|master|signing)\.?key\.id$
    """,
    re.VERBOSE,
)
_KEY_FILE = re.compile(r"key\.?file$")
"""Some connectors, as those of BigQuery, accept the path of a file or its content as the value of such a key."""
_PATH = re.compile(r"(?:[A-Za-z]:|\.{1,2})?[/\\][^\s{\"]{1,250}|[\w.-]{1,100}\.(?:json|key|p12|pem)")
_MASK = re.compile(r"[*\u2022]{3,}|\[hidden\]|<redacted>", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{(?:[^}:$]|\$(?!\{))++(?::(?!-)(?:[^}:$]|\$(?!\{))*+)++\}")
"""Without another `${` inside, so that the search takes linear time. `${name:-default}` and `${env:NAME:-default}` are
none: the default may be a secret."""
PLACEHOLDER = r"\$\{[^}:$\n]*\}|\$\([\w.-]+\)|\{\{[^{}\n]*\}\}|<[A-Za-z][A-Za-z _-]*>"
"""What a template engine or a person replaces later: `${NAME}`, `$(NAME)`, `{{ .name }}`, `<your password>`."""
_PLACEHOLDER = re.compile(PLACEHOLDER)
_BESIDE_REFERENCE = re.compile(r"(?i:[\w.@+-]*:|(?:basic|bearer|token|apikey) +)?\s*")
"""A user name, or a scheme of HTTP."""
_IN_PAIR = re.compile(rf"""[\w.-][ \t]*=[ \t]*\\?["']?{_REFERENCE.pattern}(?=["'\\\s;,&)}}]|$)""")
"""A reference as the whole value of a pair, such as one of JAAS: credentials in other pairs are found by their
syntax."""


@lru_cache(maxsize=4096)
def is_sensitive_key(key: str) -> bool:
    """True for keys such as `database.password`, whatever their type is. Cached: connectors share a few keys."""
    dotted = _dotted(key)
    return bool(_SENSITIVE_KEY.search(dotted)) and not _NOT_SENSITIVE.search(dotted)


def is_secret_key(key: str, value: str) -> bool:
    """True for the keys of secrets, but not for `keyfile` with the path of a file, which is no secret."""
    return is_sensitive_key(key) and not (_PATH.fullmatch(value) and _KEY_FILE.search(_dotted(key)))


def _dotted(key: str) -> str:
    return _WORDS.sub(".", key).lower().strip(".")


def is_mask(value: str) -> bool:
    """True for values that servers show instead of a secret: `********`, or Kafka's `[hidden]` (Password.HIDDEN)."""
    return bool(_MASK.fullmatch(value))


def is_placeholder(value: str) -> bool:
    """True for `${NAME}`, `{{ .name }}`, `<your password>` and the like: another tool or a person replaces it."""
    return bool(_PLACEHOLDER.fullmatch(value))


def is_reference(value: str) -> bool:
    """True if a value contains a config provider's `${provider:path:key}` (KIP-297), which the worker resolves."""
    return bool(_REFERENCE.search(value))


def is_only_reference(value: str) -> bool:
    """True if references are all that can be secret in a value, as in `user:${file:/a:b}`, but not `x1${env:X}`."""
    rest, count = _REFERENCE.subn("", value)
    if "=" in rest:
        return count > 0 and not _REFERENCE.search(_IN_PAIR.sub("", value))
    return count > 0 and bool(_BESIDE_REFERENCE.fullmatch(rest))


def masked_beside_references(value: str, mask: str) -> str:
    """The references in a secret value, with a mask for each text around them; the mask if there are none."""
    shown, end = [], 0
    for found in _REFERENCE.finditer(value):
        shown += [*([mask] if end < found.start() else []), found[0]]
        end = found.end()
    return "".join([*shown, *([mask] if end < len(value) or not shown else [])])
