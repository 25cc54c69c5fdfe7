"""Translates an error of Spark into one sentence, and into an error class that says whether a retry may help."""

from __future__ import annotations

import re
from collections.abc import Callable

from gitops_connect.errors import SparkFailed, SparkUnusable

PACKAGES = ("numpy", "pandas", "pyarrow", "zstandard")
"""The packages that executors import, in addition to the standard library and the modules that are sent to them."""

_INSTALL = f"install {', '.join(PACKAGES[:-1])} and {PACKAGES[-1]} for their Python"
_CHOOSE = 'choose it with "spark.pyspark.python" in [spark.options], or with PYSPARK_PYTHON of a Connect server'
_LACKING: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"different version: ([\d.]+) than that in driver:? ([\d.]+)"),
        lambda found: (
            f"they run Python {found[1]}, but this process runs {found[2]}, and both must be the same; {_CHOOSE}"
        ),
    ),
    (
        re.compile(r"No module named '([\w.]+)'"),
        lambda found: f"their Python has no package {found[1].split('.')[0]}: {_INSTALL} ({_CHOOSE})",
    ),
    (
        re.compile(r"([A-Za-z]\w+) >= ([\d.]+) must be installed; however, (it was not found|your version is [\d.]+)"),
        lambda found: f"their Python needs {found[1].lower()} {found[2]} or newer, but {found[3]}: {_INSTALL}",
    ),
    (
        re.compile(r'Cannot run program "([^"]+)"'),
        lambda found: f"they have no program {found[1]} to run as their Python; {_CHOOSE}",
    ),
)
_PY4J = "An error occurred while calling "
_TRACEBACK = "Traceback (most recent call last):"


def failed(task: str, error: BaseException, because: str | None = None) -> SparkFailed | SparkUnusable:
    """The error to raise: `task` is what failed, `because` is the reason if the caller knows a better one."""
    text = str(error)
    if because is None:
        for pattern, words in _LACKING:
            if found := pattern.search(text):
                return SparkUnusable(f"{task}: the executors cannot run it: {words(found)}")
    return SparkFailed(f"{task}: {because or reason(error)}")


def reason(error: BaseException) -> str:
    """One line of the error's text: the line with the error if it is a Python traceback, else the first."""
    details = getattr(error, "details", None)  # of gRPC, whose errors have no text
    text = str(details()) if callable(details) else str(error)
    behind = text.partition(_TRACEBACK)[2]
    if behind:
        lines = [
            line for line in behind.splitlines() if re.match(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt)\b", line)
        ]
        if lines:
            return lines[0].strip()
    lines = [line.removeprefix(": ").strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith(_PY4J)), lines[0] if lines else type(error).__name__)
