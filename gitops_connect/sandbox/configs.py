"""The configuration files of the sandbox's broker, workers and loggers, from the templates in `properties/`.

Settings that only matter for a larger cluster (replication, many partitions, waiting for members) are set for a single
machine. All others keep Kafka's defaults, so that the sandbox behaves like other clusters.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from string import Template

from gitops_connect.sandbox.jars import plugin_discovery

HOST = "127.0.0.1"


def broker(data: Path, port: int, controller_port: int) -> str:
    """A KRaft node that is both broker and controller, reachable from this machine only."""
    return _filled("broker", data=data, port=port, controller_port=controller_port)


def worker(release: str, port: int, broker_port: int, plugins: Iterable[str], *, exactly_once: bool) -> str:
    """A distributed Connect worker, whose plugins are in these directories."""
    return _filled(
        "worker",
        port=port,
        broker_port=broker_port,
        support="enabled" if exactly_once else "disabled",
        discovery=plugin_discovery(release),
        plugins=",".join(plugins),
    )


def write_loggers(directory: Path) -> None:
    """Write the files of Log4j 2 for Kafka 4, and of reload4j (Log4j 1) for older releases: each reads its own."""
    for name in ("log4j2", "log4j"):
        (directory / f"{name}.properties").write_text(text_of(name), encoding="ascii")


def text_of(name: str) -> str:
    """The text of a template."""
    return files("gitops_connect.sandbox").joinpath("properties", f"{name}.properties").read_text(encoding="ascii")


def _filled(name: str, **values: object) -> str:
    lines = [line for line in text_of(name).splitlines(keepends=True) if not line.startswith("#")]
    return Template("".join(lines)).substitute({key: _escape(f"{value}") for key, value in values.items()}, host=HOST)


def _escape(value: str) -> str:
    """The value as `java.util.Properties` reads it: Latin-1 with escapes in UTF-16, which begin with a backslash."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)
