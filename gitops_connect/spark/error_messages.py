"""Translates an error of Spark into one sentence, and into an error class that says whether a retry may help."""

from __future__ import annotations

import re

from gitops_connect.errors import SparkFailed, SparkUnusable

PACKAGES = ("numpy", "pandas", "pyarrow", "zstandard")
"""The packages that executors import, in addition to the standard library and the modules that are sent to them."""
_INSTALL = f"install {', '.join(PACKAGES[:-1])} and {PACKAGES[-1]} for their Python"
_CHOOSE = 'choose it with "spark.pyspark.python" in [spark.options], or with PYSPARK_PYTHON of a Connect server'
_LACKING = {
    r"different version: ([\d.]+) than that in driver:? ([\d.]+)": (
        rf"they run Python \1, but this process runs \2, and both must be the same; {_CHOOSE}"
    ),
    r"No module named '(\w+)": rf"their Python has no package \1: {_INSTALL} ({_CHOOSE})",
    r"([A-Za-z]\w+) >= ([\d.]+) must be installed; however, (it was not found|your version is [\d.]+)": (
        rf"their Python needs \1 \2 or newer, but \3: {_INSTALL}"
    ),
    r'Cannot run program "([^"]+)"': rf"they have no program \1 to run as their Python; {_CHOOSE}",
}
_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)\b.*", re.MULTILINE)


def failed(task: str, error: BaseException, because: str | None = None) -> SparkFailed | SparkUnusable:
    """The error to raise: `task` is what failed, `because` is the reason if the caller knows a better one."""
    for pattern, words in _LACKING.items():
        if because is None and (found := re.search(pattern, str(error))):
            return SparkUnusable(f"{task}: the executors cannot run it: {found.expand(words)}")
    return SparkFailed(f"{task}: {because or _reason(error)}")


def _reason(error: BaseException) -> str:
    """One line of the error's text: the line with the error if it is a Python traceback, else the first."""
    details = getattr(error, "details", None)  # of gRPC, whose errors have no text
    text = str(details()) if callable(details) else str(error)
    if raised := _RAISED.search(text.partition("Traceback (most recent call last):")[2]):
        return raised[0].strip()
    lines = [line.removeprefix(": ").strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("An error occurred while calling ")]  # by py4j
    return next(iter([*said, *lines]), type(error).__name__)
