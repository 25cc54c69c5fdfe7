"""The progress display is tested on a real pseudo-terminal, because it depends on the terminal."""

import os
import pty
import subprocess
import sys

import pytest
from support.files.tables import rows, table

pytestmark = pytest.mark.slow

PROGRAMS: dict[str, str] = table(__file__, "programs")


def run_on_terminal(name: str, **environment: str) -> tuple[str, str]:
    """Run a program with stderr on a terminal and stdout on a pipe; return both."""
    parent, child = pty.openpty()
    command = [sys.executable, "-c", PROGRAMS[name]]
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": "120", **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=child, env=variables, text=True) as process:
        os.close(child)
        seen = b""
        try:
            while chunk := os.read(parent, 4096):
                seen += chunk
        except OSError:  # Linux ends a pseudo-terminal with EIO
            pass
        os.close(parent)
        assert process.stdout is not None
        return process.stdout.read(), seen.decode()


@pytest.mark.parametrize(("name", "shown"), rows(__file__, "lines"))
def test_without_a_terminal_there_is_a_line_now_and_then(name: str, shown: list[str]) -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAMS[name]], capture_output=True, text=True, check=True)
    lines = result.stderr.splitlines()
    assert list(dict.fromkeys(lines)) == shown
    is_repeated = name in ("silent", "at_once")
    assert (len(lines) > len(shown)) is is_repeated, "an activity without progress is repeated"


@pytest.mark.parametrize("no_color", ["", "1"])
def test_slow_work_is_shown_on_a_terminal_and_data_stays_on_stdout(no_color: str) -> None:
    out, err = run_on_terminal("slow", NO_COLOR=no_color)
    assert out == "data\n"
    assert "fetching" in err
    assert "3/7 jars [bold]" in err
    assert ("\x1b[3" in err) is not bool(no_color)


def test_a_phase_that_cannot_be_counted_follows_one_that_is_finished() -> None:
    _, err = run_on_terminal("two_phases", NO_COLOR="1")
    assert "7/7 jars" in err
    spinners = {frame for frame in "-\\|/" if f"{frame} fetching" in err.partition("starting")[2]}
    assert spinners, "it still moves"


def test_quick_work_shows_nothing_and_imports_nothing() -> None:
    out, err = run_on_terminal("quick")
    assert (out, err) == ("False\n", "")
