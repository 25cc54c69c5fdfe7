"""What gitops-connect knows of a family of connectors: the interface that every family implements, ours and others'."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from gitops_connect.families.kafka_use import KafkaUse
from gitops_connect.families.offset_keys import OffsetKeys, Start
from gitops_connect.families.resume import ResumeRules
from gitops_connect.families.shapes import Shape
from gitops_connect.model.units import Unit

Config = Mapping[str, str]
UndefinedKeys = Mapping[str, tuple[str, ...]]
"""Patterns (with `*`) of config keys that a class reads although its plugin's validation does not define them.

They are listed by the Java class that reads them, which is the source of the fact.
"""
NO_OFFSET_KEYS = OffsetKeys(Start("starts without offsets"))
"""For a class of which nobody has said which config keys decide about its offsets."""


@dataclass(frozen=True, slots=True)
class Section:
    """A key that lists aliases, and the prefix of the keys of each alias: `{}` is replaced by the alias.

    `always` are aliases that need not be listed. `source` is the Java class that reads the keys.
    """

    source: str
    key: str
    prefix: str
    always: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConnectorClass:
    """One connector class. Every field has a default, which means that nothing is known.

    `shape` are its partitions and offsets, and `shape_of_config` changes the shape for a config. `resume` says what
    decides where it resumes, `offset_keys` which config keys select its offsets. `undefined` are config keys that it
    reads and does not define, `sections` those of lists of aliases.

    `disabled_by` are config keys that disable the connector if they are false, so that it has no tasks on purpose;
    `why_no_tasks` is the usual reason if it has none for another reason.

    `kafka_use` returns the topics that it writes with a config. Without it, they are unknown.

    `has_aliases` is False if other classes have the same simple name: then only the full name means this class.
    """

    shape: Shape | None = None
    resume: ResumeRules | None = None
    offset_keys: OffsetKeys = NO_OFFSET_KEYS
    undefined: UndefinedKeys = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    disabled_by: tuple[str, ...] = ()
    why_no_tasks: str = ""
    shape_of_config: Callable[[Shape, Config], Shape] | None = None
    kafka_use: Callable[[Config], KafkaUse] | None = None
    has_aliases: bool = True

    def shape_for(self, config: Config) -> Shape | None:
        """The shape of a connector with that config, with the resume rules that apply to it."""
        if self.shape is None:
            return None
        shape = self.shape if self.shape_of_config is None else self.shape_of_config(self.shape, config)
        return shape if self.resume is None else replace(shape, resume=self.resume.of(config))

    def has_offsets_of(self, other: ConnectorClass) -> bool:
        """Whether what is known of the offsets of the two classes is the same."""
        return self.shape == other.shape and self.resume == other.resume and self.offset_keys == other.offset_keys

    def is_disabled(self, config: Config) -> bool:
        return any(config.get(key, "").strip().lower() == "false" for key in self.disabled_by)


@dataclass(frozen=True, slots=True)
class Family:
    """A family of connectors: its classes by their full names.

    A package provides one with an entry point of the group `gitops_connect.families`. `api` is the version of this
    interface that the family was written for. `units` are the units of its distances; an offset schema in a repository
    can name them too. `transforms` are keys that transforms of these classes read without defining them, without the
    prefix of the transform.
    """

    api: Literal[1]
    name: str
    classes: Mapping[str, ConnectorClass]
    units: tuple[Unit, ...] = ()
    transforms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def class_names(class_name: str) -> tuple[str, ...]:
    """The full name, the simple name, and that without `Connector`: all that `PluginUtils.computeAliases` accepts."""
    simple = class_name.rpartition(".")[2].rpartition("$")[2]
    return class_name, simple, simple.removesuffix("Connector") or simple
