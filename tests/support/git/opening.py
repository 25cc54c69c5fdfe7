"""The type of the fixture that opens repositories, for annotations."""

from __future__ import annotations

from collections.abc import Callable

from gitops_connect.source.repository import Repository

Open = Callable[..., Repository]
