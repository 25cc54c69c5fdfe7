"""How messages name a value that only another tool can evaluate, such as `var.password` of Terraform."""

from __future__ import annotations

import re

_REFERENCE = re.compile(
    r"""\(?(?:
      (?:count|data|each|local|module|path|self|terraform|var)(?:\.[A-Za-z_][\w-]*)+
    | [a-z][a-z0-9]*_[a-z0-9_]*(?:\.[A-Za-z_][\w-]*){2,}    # the attribute of a resource
    | \$\{[A-Za-z_][A-Za-z0-9_@]*\}                        # ksqlDB
    )\)?""",
    re.VERBOSE,
)


def reference_of(expression: str) -> str:
    """The expression if it is only a reference; every other one may contain a secret, and be a forgotten quote."""
    return expression if _REFERENCE.fullmatch(expression) else "an expression"
