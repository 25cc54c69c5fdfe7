"""A progress display on stderr: on a terminal after a second, else as a line after two seconds and every ten seconds.

Only this module imports rich, after that second, so that a fast command does not spend time on the import.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from gitops_connect.cli.console import echo
from gitops_connect.report.printable import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 1.0
"""Seconds before the display appears."""
FIRST = 2.0
"""Seconds before the first line."""
EVERY = 10.0
"""Seconds between two lines."""


class Update(Protocol):
    """Reports the current work, and how much of it is done if that can be counted. Any thread may call it."""

    def __call__(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """`total=None` shows activity without a share."""


def silent(text: str, done: int | None = None, total: int | None = None) -> None:
    """An `Update` that shows nothing."""


@contextmanager
def progress(title: str, text: str = "", *, lines: bool = False) -> Iterator[Update]:
    """Yield an `Update`. Its texts are shown next to `title` until the block ends. `text` is the first one.

    If stderr is not a terminal, a line after 2 seconds and then every 10 seconds says what is done, and with `lines`
    also each new activity. In the block of another `progress`, the texts are shown there, until the inner block ends.
    """
    if (outer := _OUTER.get()) is not None:
        before = outer.work
        if text:
            outer.update(text)
        try:
            yield outer.update
        finally:
            outer.update(*before)
        return
    display = _Display(title) if sys.stderr.isatty() else _ActivityLines(title, at_once=lines)
    display.update(text)
    display.schedule()
    token = _OUTER.set(display)
    try:
        yield display.update
    finally:
        _OUTER.reset(token)
        display.close()


class _ActivityLines:
    """The lines of one `progress` block. A thread prints those of an activity that reports nothing for long."""

    def __init__(self, title: str, *, at_once: bool) -> None:
        self._title, self._at_once = title, at_once
        self.work: tuple[str, int | None, int | None] = ("", None, None)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="progress", daemon=True)

    def schedule(self) -> None:
        self._thread.start()

    def update(self, text: str, done: int | None = None, total: int | None = None) -> None:
        is_new = _activity(text) != _activity(self.work[0])
        self.work = text, done, total
        if is_new and self._at_once:
            self._tell()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _repeat(self) -> None:
        pause = FIRST
        while not self._over.wait(pause):
            self._tell()
            pause = EVERY

    def _tell(self) -> None:
        echo(f"{self._title}: {_counted(*self.work)}")


def _activity(text: str) -> str:
    return text.lstrip("0123456789 ")


class _Display:
    """The state of one `progress` block. A lock protects it from concurrent calls by the timer and the caller."""

    def __init__(self, title: str) -> None:
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._appear)
        self._title = title
        self.work: tuple[str, int | None, int | None] = ("", None, None)
        self._shown: tuple[Progress, TaskID] | None = None
        self._closed = False

    def schedule(self) -> None:
        self._timer.daemon = True
        self._timer.start()

    def update(self, text: str, done: int | None = None, total: int | None = None) -> None:
        with self._lock:
            self.work = text, done, total
            self._draw()

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._shown:
                self._shown[0].stop()

    def _appear(self) -> None:
        from rich import progress as rich_progress  # noqa: PLC0415
        from rich.console import Console  # noqa: PLC0415 - see above

        with self._lock:
            if self._closed:
                return
            shown = rich_progress.Progress(
                rich_progress.SpinnerColumn("line"),
                rich_progress.TextColumn("{task.fields[title]}", markup=False),
                rich_progress.BarColumn(bar_width=24),
                rich_progress.TextColumn("{task.fields[text]}", markup=False),
                rich_progress.TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,  # stdout is for data, and stays unchanged
            )
            self._shown = shown, shown.add_task("", title=self._title, text="", total=None)
            self._draw()
            shown.start()

    def _draw(self) -> None:
        if self._shown:
            (shown, number), (text, done, total) = self._shown, self.work
            (task,) = shown.tasks
            # rich treats `update(total=None)` as no change: a new phase after a finished one would be shown as
            # finished.
            task.total, task.finished_time = total, None
            shown.update(number, completed=done or 0, text=_counted(text, done, total))


_OUTER: ContextVar[_ActivityLines | _Display | None] = ContextVar("outer progress", default=None)


def _counted(text: str, done: int | None, total: int | None) -> str:
    return one_line(text) if total is None else f"{done or 0}/{total} {one_line(text)}"
