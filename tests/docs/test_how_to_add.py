"""What CONTRIBUTING says about adding things is done here, in a copy of the package, and then works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support.docs.docs_pages import ROOT
from support.docs.package_source import PACKAGE

pytestmark = pytest.mark.slow


class Added(NamedTuple):
    """New files, replacements (file, before, after) in others, and a program that prints `expected`."""

    files: dict[str, str]
    edits: tuple[tuple[str, str, str], ...]
    program: str
    expected: str


COMMAND = Added(
    {
        "cli/hello.py": '''"""Says hello."""

from gitops_connect.cli.console import emit
from gitops_connect.cli.exit_codes import ExitCode


def hello() -> ExitCode:
    """Say hello."""
    emit("hello")
    return ExitCode.DONE
'''
    },
    (("cli/main.py", "COMMANDS = {\n", 'COMMANDS = {\n    "hello": CommandEntry("hello", "hello", "Say hello."),\n'),),
    "from gitops_connect.cli.main import run_command; run_command(['hello'])",
    "hello",
)
SETTING = Added(
    {},
    (
        (
            "settings/sections.py",
            '    branch: str = "main"\n',
            '    colour: str = "red"\n    """A colour."""\n    branch: str = "main"\n',
        ),
    ),
    """
import sys; from pathlib import Path; from gitops_connect.settings.settings_file import load_settings
Path("a.toml").write_text('[repository]\\ncolour = "blue"\\n[clusters.a]\\nurl = "http://127.0.0.1:1"\\n')
print(load_settings(Path("a.toml"), {}).repository.colour)
""",
    "blue",
)
RULE = Added(
    {},
    (
        (
            "offsets/rules/rules.toml",
            "[no-partition]\n",
            '[odd]\nmessage = "the partition is odd"\nseverity = "warning"\n\n[no-partition]\n',
        ),
        (
            "offsets/rules/entries.py",
            '            yield Finding("manifest/no-partition", "partition", {})\n',
            (
                '            yield Finding("manifest/odd", "partition", {})\n'
                '            yield Finding("manifest/no-partition", "partition", {})\n'
            ),
        ),
    ),
    """
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.operations import OperationKind
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.rules.entries import EntryChecker
from gitops_connect.offsets.rules.rules import diagnose
found = EntryChecker(ManifestContext("orders"), OperationKind.ALTER).check({"offset": {"a": 1}}).findings
print([diagnose(one, Location("a.json"), None).summary for one in found][0])
""",
    "the partition is odd",
)
FAMILY = Added(
    {
        "families/clock.py": '''"""A source of times."""

from gitops_connect.families.family import ConnectorClass, Family
from gitops_connect.families.field_kinds import NUMBER, TEXT
from gitops_connect.families.shapes import Shape, ShapeFields

_SHAPE = Shape("ClockSource", (ShapeFields({"zone": TEXT}),), ShapeFields({"tick": NUMBER}), ("tick",))
FAMILY = Family(1, "Clock", {"com.example.ClockSource": ConnectorClass(_SHAPE)})
'''
    },
    (
        ("families/registry.py", "import debezium, ", "import clock, debezium, "),
        ("families/registry.py", "BUILT_IN = Registry((", "BUILT_IN = Registry((clock.FAMILY, "),
    ),
    """
from gitops_connect.families.registry import BUILT_IN
print(BUILT_IN.shape({"connector.class": "com.example.ClockSource"}))
""",
    "Shape(name='ClockSource'",
)
PAGE = Added(
    {
        "server/templates/hello.html": '{% extends "layout.html" %}\n'
        "{% block main %}<h1>Hello, {{ name }}</h1>{% endblock %}\n"
    },
    (
        (
            "server/page_routes.py",
            "def cluster(request: Request)",
            (
                "def hello(request: Request) -> Response:\n"
                '    """`/hello`."""\n'
                '    return _page("hello.html", "Hello", served(request).snapshot, name="<you>")\n\n\n'
                "def cluster(request: Request)"
            ),
        ),
        (
            "server/app.py",
            '    Route("/", page_routes.front),\n',
            '    Route("/", page_routes.front),\n    Route("/hello", page_routes.hello),\n',
        ),
    ),
    """
import sys; sys.path.insert(0, TESTS)
from pathlib import Path
from starlette.testclient import TestClient
from support.server.made_up import world, write_ledger
from gitops_connect.server.app import application
write_ledger(Path.cwd())
with world(Path.cwd()) as made:
    page = TestClient(application(made.served), base_url="http://localhost").get("/hello").text
print(page[page.index("<h1>"):page.index("</h1>")])
""",
    "<h1>Hello, &lt;you&gt;",
)
NOTIFICATION = Added(
    {},
    (
        (
            "daemon/events.py",
            "def say(level: int",
            (
                'def greeted(cluster: str) -> None:\n    """Greets."""\n'
                '    say(logging.WARNING, "greeted", cluster=cluster, message="hello")\n\n\ndef say(level: int'
            ),
        ),
    ),
    """
import logging
from gitops_connect.daemon.events import greeted, log
from gitops_connect.daemon.notifications import NotificationFilter
from gitops_connect.runtime import SystemClock
from gitops_connect.settings.sections import NotificationSettings
chosen = NotificationFilter(NotificationSettings(events=("greeted",)), SystemClock())
handler = logging.Handler()
handler.emit = lambda one: print(chosen.notification(one.getMessage(), one.levelno, one.fields).title)
log.addHandler(handler)
greeted("local")
""",
    "gitops-connect: greeted: local",
)
THINGS = {
    "A family of connectors": FAMILY,
    "A command": COMMAND,
    "A rule for offset manifests": RULE,
    "A setting": SETTING,
    "A page of the daemon": PAGE,
    "A notification": NOTIFICATION,
}


def steps_of(thing: str) -> str:
    """The steps of CONTRIBUTING for it."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## How to add")[2].partition("\n## ")[0]
    return section.partition(f"**{thing}**")[2].partition("\n**")[0]


def test_every_list_of_steps_is_tried() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## How to add")[2].partition("\n## ")[0]
    titles = [line.split("**")[1] for line in section.splitlines() if line.startswith("**")]
    assert titles == [*THINGS, "Anything else"]


@pytest.mark.parametrize("thing", THINGS)
def test_it_works_after_at_most_five_steps(thing: str, tmp_path: Path) -> None:
    added, steps = THINGS[thing], steps_of(thing)
    assert 1 <= sum(line[:2] in ("1.", "2.", "3.", "4.", "5.", "6.") for line in steps.splitlines()) <= 5
    package = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "schemas").symlink_to(ROOT / "schemas")
    for name, text in added.files.items():
        assert f"`{Path(name).parent}/" in steps, "the steps name the directory"
        (package / name).write_text(text)
    for name, before, after in added.edits:
        assert f"`{name}`" in steps, "the steps name the file"
        text = (package / name).read_text()
        assert before in text
        (package / name).write_text(text.replace(before, after, 1))
    work = tmp_path / "work"
    work.mkdir()
    program = f"TESTS = {str(ROOT / 'tests')!r}\n{added.program}"
    command = [sys.executable, "-c", program]
    environment = {"PYTHONPATH": str(tmp_path), "HOME": str(work)}
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, cwd=work, env=environment)
    assert added.expected in ran.stdout, ran.stderr
