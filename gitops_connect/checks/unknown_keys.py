"""Config keys that nothing reads: those that neither the plugin's validation nor a known prefix explains.

Connect accepts any key, so a misspelt one (`table.includes.list`) changes what the connector does without an error.
Kafka's validation (`AbstractHerder.validateConnectorConfig`) returns what the framework, the plugin's `ConfigDef`, and
the listed transforms and predicates define. Connect and plugins also read keys below certain prefixes.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from importlib.resources import files
from itertools import accumulate
from typing import Any

from gitops_connect.connect.validation import ConfigVerdict
from gitops_connect.families.family import Section
from gitops_connect.families.registry import Registry
from gitops_connect.model.desired import ALLOW_UNKNOWN_KEYS, DesiredConnector
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.suggestions import Vocabulary, closest

_CLASS = "connector.class"
_WILD = frozenset("*?[")
_MOST_GLOBS = 100
"""Allowed patterns with wildcards. Each is compared with each key."""
_MOST_DOTS = 8
"""Dots in a key up to which an alias is searched."""
_FILE = files("gitops_connect.checks").joinpath("framework_keys.toml")
_KEYS: Mapping[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
_UNDEFINED: Sequence[str] = tuple(_KEYS["undefined"])
_SECTIONS = (
    Section("ConnectorConfig.EnrichablePlugin", "transforms", "transforms.{}."),
    Section("ConnectorConfig.EnrichablePlugin", "predicates", "predicates.{}."),
    Section("SourceConnectorConfig.enrich", "topic.creation.groups", "topic.creation.{}.", always=("default",)),
)
"""Of every class. An alias that is not listed is never read."""
_OF_EVERY_ALIAS: Mapping[str, Sequence[str]] = _KEYS["of_every_alias"]
FRAMEWORK: frozenset[str] = frozenset(_KEYS["defined"])
_OF_KAFKA = "org.apache.kafka.connect.transforms."
"""The transforms and predicates of Kafka read no key that they do not define."""


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A key that nothing is known to read: a suggestion, a reason, and whether it is certainly not read."""

    key: str
    meant: str | None
    reason: str
    certain: bool = False


def unknown_keys(
    connector: DesiredConnector, verdict: ConfigVerdict, families: Registry, explained: Collection[str] = ()
) -> Iterator[Diagnostic]:
    """A warning for each unknown key that no other diagnostic has `explained`, and for each useless allowance."""
    undefined = [key for key in sorted(connector.config) if key not in verdict.defined and key != "name"]
    own = frozenset(key for key in verdict.defined - FRAMEWORK if _of_plugin(key))
    if not own:  # the plugin accepts any key, and defines none to compare with: its transforms are others
        undefined = [key for key in undefined if _section(key) is not None]
    globs = [one for one in connector.allow_unknown_keys if _WILD & set(one)][:_MOST_GLOBS]
    exact = {one for one in connector.allow_unknown_keys if not _WILD & set(one)}
    for found in _reported(_Keys(connector, verdict, families), undefined, own):
        allowed = found.key in exact or any(fnmatchcase(found.key, pattern) for pattern in globs)
        if not allowed and found.key not in explained:
            yield _unknown_key(connector, found)
    unmatched = [glob for glob in globs if not any(fnmatchcase(key, glob) for key in undefined)]
    for pattern in (*sorted(exact.difference(undefined)), *unmatched):
        yield _unused(connector, pattern)


def _start(section: Section) -> str:
    """The beginning of all keys of the section."""
    return section.prefix.partition("{}")[0]


def _section(key: str) -> Section | None:
    """The section of Kafka Connect that the key is in."""
    return next((one for one in _SECTIONS if key.startswith(_start(one))), None)


def _of_plugin(key: str) -> bool:
    """Whether a defined key comes from the plugin itself, and not from a transform, a converter or a client."""
    return _section(key) is None and not _matches(_UNDEFINED, key)


def _reported(keys: _Keys, undefined: list[str], own: Set[str]) -> list[_Unknown]:
    """The unknown keys; only the probable ones if they are more than the plugin's own: it reads undefined keys then."""
    found = [one for key in undefined if (one := _check_key(keys, key)) is not None]
    certain = [one for one in found if one.meant is not None or one.certain]
    return found if len(found) - len(certain) <= len(keys.connector.config.keys() & own) else certain


@dataclass(frozen=True)
class _Keys:
    """The keys that a config sets and that its plugin defines. What many keys are compared with is computed once."""

    connector: DesiredConnector
    verdict: ConfigVerdict
    families: Registry

    @property
    def class_name(self) -> str:
        return self.connector.config.get(_CLASS, "")

    @cached_property
    def undefined(self) -> Sequence[str]:
        """Patterns of keys that the class reads, and nothing defines."""
        return (*_UNDEFINED, *self.families.undefined_keys(self.class_name))

    @cached_property
    def free_sections(self) -> Sequence[Section]:
        """Sections that the class reads, and whose keys nothing defines."""
        return self.families.sections(self.class_name)

    @cached_property
    def unset(self) -> Vocabulary:
        """The defined keys that the config does not set. Debezium defines some patterns as if they were keys."""
        return Vocabulary(key for key in self.verdict.defined - self.connector.config.keys() if "(" not in key)

    @cached_property
    def aliases(self) -> Mapping[Section, frozenset[str]]:
        """The aliases that each section lists."""
        listed = {one: self.connector.config.get(one.key, "").split(",") for one in (*_SECTIONS, *self.free_sections)}
        return {one: frozenset((*one.always, *map(str.strip, names))) - {""} for one, names in listed.items()}

    @cached_property
    def listed(self) -> Mapping[Section, Vocabulary]:
        return {section: Vocabulary(aliases) for section, aliases in self.aliases.items()}

    @cached_property
    def _sorted(self) -> Sequence[str]:
        return sorted(self.verdict.defined)

    def defined_under(self, prefix: str) -> list[str]:
        first, last = bisect_left(self._sorted, prefix), bisect_left(self._sorted, prefix + "\U0010ffff")
        return [key.removeprefix(prefix) for key in self._sorted[first:last]]

    def prefix(self, key: str, section: Section) -> str | None:
        """The prefix of a listed alias with which the key begins. An alias may contain dots."""
        start = _start(section)
        heads = accumulate(key.removeprefix(start).split(".", _MOST_DOTS)[:-1], "{}.{}".format)
        return next((f"{start}{head}." for head in heads if head in self.aliases[section]), None)


def _check_key(keys: _Keys, key: str) -> _Unknown | None:
    section = _section(key)
    if section is not None:
        return _in_section(keys, key, section)
    if _is_read(keys, key):
        return None
    return _Unknown(key, keys.unset.closest(key) or _other_prefix(key), f"{keys.class_name} does not define it")


def _is_read(keys: _Keys, key: str) -> bool:
    listed = (one for one in keys.free_sections if key.startswith(_start(one)))
    return _matches(keys.undefined, key) or any(keys.prefix(key, one) for one in listed)


def _matches(patterns: Iterable[str], key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def _in_section(keys: _Keys, key: str, section: Section) -> _Unknown | None:
    """The finding for a key of a transform. A key of a transform that is not listed is never read.

    A key of a listed transform is compared with the keys that this transform defines. If it defines none, it may read
    any key, and only misspelt keys of every transform are found: Connect defines none as long as the class is missing.
    """
    config = keys.connector.config
    prefix = keys.prefix(key, section)
    if prefix is None:
        start = _start(section)
        alias, _, rest = key.removeprefix(start).partition(".")
        meant = keys.listed[section].closest(alias)
        reason = f"{section.key!r} does not list {alias!r}"
        return _Unknown(key, f"{start}{meant}.{rest}" if meant else None, reason, certain=True)
    class_name, rest = config.get(f"{prefix}type", ""), key.removeprefix(prefix)
    of_every_alias, own = _OF_EVERY_ALIAS.get(section.key, ()), keys.defined_under(prefix)
    if rest in of_every_alias or _matches(keys.families.transform_keys(class_name), rest):
        return None
    meant = closest(rest, [one for one in (*own, *of_every_alias) if prefix + one not in config])
    if meant is None and not set(own).difference(of_every_alias) and not class_name.startswith(_OF_KAFKA):
        return None
    return _Unknown(key, meant and prefix + meant, f"{class_name} does not define it")


def _other_prefix(key: str) -> str | None:
    """The key under the known prefix for which its own beginning is a misspelling: `transform.a.type`."""
    known = [pattern.removesuffix("*") for pattern in _UNDEFINED]
    for prefix in (*known, *(_start(section) for section in _SECTIONS)):
        parts = prefix.count(".")
        head, rest = key.split(".")[:parts], key.split(".")[parts:]
        if rest and closest(".".join(head), [prefix.removesuffix(".")]) is not None:
            return prefix + ".".join(rest)
    return None


def _unknown_key(connector: DesiredConnector, found: _Unknown) -> Diagnostic:
    meant = f"did you mean {found.meant!r}? " if found.meant else ""
    hint = f"{meant}if the plugin reads it, allow it with metadata.annotations: {{{ALLOW_UNKNOWN_KEYS}: {found.key}}}"
    summary = f"unknown config key {found.key!r}: {found.reason}"
    where = connector.locate_config(found.key)
    return Diagnostic(Severity.WARNING, "connect/unknown-key", summary, where, hint, connector.name)


def _unused(connector: DesiredConnector, pattern: str) -> Diagnostic:
    summary = f"{ALLOW_UNKNOWN_KEYS} allows {pattern!r}, but no unknown config key matches it"
    where = connector.locate(("metadata", "annotations", ALLOW_UNKNOWN_KEYS))
    hint = "remove or correct the pattern"
    return Diagnostic(Severity.WARNING, "connect/unused-allowance", summary, where, hint, connector.name)
