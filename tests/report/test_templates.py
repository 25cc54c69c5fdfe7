"""The templates of all pages: every value in them is escaped, and the wheel contains all data of the package."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from jinja2 import DictLoader, UndefinedError
from markupsafe import Markup

from gitops_connect.report.page import templates

ROOT = Path(__file__).parents[2]
PACKAGES = ("gitops_connect.report", "gitops_connect.server")
FILES = [file for package in PACKAGES for file in (ROOT / package.replace(".", "/") / "templates").iterdir()]
UNESCAPED = re.compile(r"\|\s*safe\b|autoescape|Markup|<script>|\son[a-z]+=")


def rendered(source: str, **values: object) -> str:
    environment = templates("gitops_connect.report")
    environment.loader = DictLoader({"one.html": source})
    return environment.get_template("one.html").render(values)


def test_no_template_turns_escaping_off() -> None:
    assert len(FILES) > 10
    assert [file.name for file in FILES if UNESCAPED.search(file.read_text())] == []


def test_every_value_is_escaped_and_on_one_line() -> None:
    template = '{% macro one(text) %}{{ text }}{% endmacro %}<p title="{{ value }}">{{ one(value) }}</p>'
    cases: list[tuple[object, str]] = [
        ("<b>&'\"", "&lt;b&gt;&amp;&#x27;&quot;"),
        ("\u202ea\nb\ud800", r"\u202ea\u000ab\ud800"),
        ("x" * 401, "x" * 400 + "… (401 characters)"),
        (7, "7"),
        (Markup("<b>"), "<b>"),
    ]
    for value, shown in cases:
        assert rendered(template, value=value) == f'<p title="{shown}">{shown}</p>'


def test_a_message_keeps_its_lines_and_a_name_without_a_value_is_an_error() -> None:
    assert rendered("{{ value | prose }}", value="<a>\nb\tc") == "&lt;a&gt;<br>b\\u0009c"
    with pytest.raises(UndefinedError, match="'nothing' is undefined"):
        rendered("{{ nothing }}")


def test_the_wheel_contains_them_and_all_other_data() -> None:
    """Hatch packs every file of the package that Git does not ignore."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["gitops_connect"]
    assert wheel["exclude"] == ["gitops_connect/families/*/cases.yaml"], "only the tests read these"
    command = ["git", "check-ignore", "--", *map(str, [*FILES, *ROOT.glob("gitops_connect/**/*.yaml")])]
    ignored = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ignored.returncode, ignored.stdout) == (1, "")
