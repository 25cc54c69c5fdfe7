"""A command on a real pseudo-terminal, to which tests type."""

from __future__ import annotations

import os
import pty
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Self

from acceptance.workplace import Workplace

from support.waiting import await_that

DEADLINE = 30.0


class Terminal:
    """One command in its own session, whose stdin and stderr (and stdout, unless `piped`) are a terminal."""

    def __init__(
        self,
        at: Workplace,
        arguments: Sequence[str],
        *,
        piped: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._screen, child = pty.openpty()
        self.process = subprocess.Popen(
            at.command(*arguments),
            stdin=child,
            stdout=subprocess.PIPE if piped else child,
            stderr=child,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200", **(environment or {})},
            start_new_session=True,
        )
        os.close(child)
        self.seen = ""
        self.out = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # Linux ends a pseudo-terminal with EIO
            while chunk := os.read(self._screen, 4096):
                self.seen += chunk.decode()

    def wait(self, text: str) -> None:
        """Wait until the text is on the screen."""
        await_that(lambda: self.seen, lambda seen: text in seen)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def code(self) -> int:
        """The exit code, after the command has ended by itself and its output has been read."""
        if self.process.stdout is not None:
            self.out = self.process.stdout.read()
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(DEADLINE)
        os.close(self._screen)
        if self.process.stdout is not None:
            self.process.stdout.close()
