"""Mutations of the product: `python -m simulation.mutations NAME` lives days with one of them until one fails."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

import yaml

SEEDS = 2000
"""Seeds within which each mutation has to be found."""
MUTATIONS: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)["mutations"]


class _Loader(SourceFileLoader):
    """Loads a module with a part of its source replaced."""

    def __init__(self, spec: ModuleSpec, old: str, new: str) -> None:
        assert spec.origin is not None
        super().__init__(spec.name, spec.origin)
        source = Path(spec.origin).read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{spec.origin} contains this {source.count(old)} times: {old!r}"
        self._mutant = source.replace(old, new)

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant, self.get_filename(fullname), "exec")


def load(name: str) -> None:
    """Load the module with that mutation. No module that imports it must be loaded before."""
    mutation = MUTATIONS[name]
    module = f"gitops_connect.{mutation['module']}"
    assert module not in sys.modules, f"{module} is loaded already"
    spec = find_spec(module)
    assert spec is not None
    spec.loader = _Loader(spec, mutation["old"], mutation["new"])
    sys.modules[module] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[module])


def found(name: str) -> tuple[int, str] | None:
    """The seed with which the mutation breaks a promise, and how; None if no day has failed.

    Its `seed` in the list is tried first, which only saves time.
    """
    load(name)
    from simulation.schedules import BadDay, Beginnings, live, schedule_of  # noqa: PLC0415 - after the mutation

    with tempfile.TemporaryDirectory() as directory:
        first: int = MUTATIONS[name].get("seed", 0)
        seed = first
        try:
            beginnings = Beginnings(Path(directory))
            for seed in (first, *range(SEEDS)):
                live(schedule_of(seed), beginnings)
        except (BadDay, AssertionError) as error:
            return seed, str(error).partition("\n")[0]
    return None


if __name__ == "__main__":
    how = found(sys.argv[1])
    print(how)
    sys.exit(how is None)
