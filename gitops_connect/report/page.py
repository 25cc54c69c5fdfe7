"""Pages for a browser, from templates of Jinja2 in which every value is escaped.

Values come from documents, servers and manifests, which are not trusted. So a value is shown on one line, without
characters that do not print, cut if it is very long, and with its markup escaped. Only a macro, a block of a template
and the filters `whole` and `prose` return markup, and these two escape, too.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gitops_connect.report.printable import escaped, shortened

THEME = "theme.css"
"""The template with the colours and the typography that all pages share."""
_LONGEST = 4000
"""Characters of a text of several lines."""


def shown(value: object) -> Markup:
    """A value that is safe between tags and in attributes: without markup and changes of the writing direction."""
    return value if isinstance(value, Markup) else whole(shortened(escaped(str(value))))


def whole(text: str) -> Markup:
    """Text of any length, which is printable already: its markup is escaped."""
    return Markup(html.escape(text))  # noqa: S704 - it is escaped


def prose(text: str) -> Markup:
    """A message of several lines, each of which is escaped."""
    return Markup("<br>").join(whole(escaped(line)) for line in text[:_LONGEST].splitlines())


def templates(package: str, filters: Mapping[str, Callable[..., object]] | None = None) -> Environment:
    """The templates of a package in its directory `templates`. A name that has no value is an error."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "number": "{:,}".format,
        "utc": "{:%Y-%m-%d %H:%M:%S} UTC".format,
        "whole": whole,
        "prose": prose,
        **(filters or {}),
    }
    return environment


@cache
def own_templates() -> Environment:
    """The templates of the reports, which need no server."""
    return templates("gitops_connect.report")
