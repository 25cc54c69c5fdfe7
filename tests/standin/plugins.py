"""The plugins of the stand-in, and Connect's validation of a config as far as the tests need it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from support.files.tables import read_yaml


class Refused(Exception):
    """An error response: HTTP status and Connect's message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Key:
    """One config key: its type, whether it is required, its default, the minimum of a number, and accepted words."""

    type: str = "STRING"
    required: bool = False
    default: str | None = None
    least: int | None = None
    words: Sequence[str] = ()
    any_case: bool = False


@dataclass(frozen=True)
class PluginClass:
    """One connector class."""

    name: str
    type: str
    keys: Mapping[str, Key]

    @property
    def aliases(self) -> tuple[str, str, str]:
        simple = self.name.rpartition(".")[2]
        return self.name, simple, simple.removesuffix("Connector")


def _keys(written: dict[str, dict[str, Any]]) -> dict[str, Key]:
    return {name: Key(**one) for name, one in written.items()}


_WRITTEN = read_yaml(Path(__file__).with_name("plugins.yaml"))
COMMON = _keys(_WRITTEN["common"])
OF_TYPE = {"source": _keys(_WRITTEN["source"]), "sink": _keys(_WRITTEN["sink"])}
PLUGINS = [PluginClass(one["class"], one["type"], _keys(one["keys"])) for one in _WRITTEN["plugins"]]


@cache
def find(class_name: str) -> PluginClass | None:
    """Find a plugin by its full name or by one of its short names."""
    return next((plugin for plugin in PLUGINS if class_name in plugin.aliases), None)


def keys_of(plugin: PluginClass) -> dict[str, Key]:
    return {**COMMON, **OF_TYPE[plugin.type], **plugin.keys}


def listing(version: str) -> list[dict[str, str]]:
    return [{"class": plugin.name, "type": plugin.type, "version": version} for plugin in PLUGINS]


def definitions(name: str) -> list[dict[str, Any]]:
    plugin = find(name)
    if plugin is None:
        raise Refused(404, f"Unknown plugin {name}.")
    return [_definition(key, spec) for key, spec in keys_of(plugin).items()]


def require_version(name: str, version: str, installed: str) -> None:
    """Each class is installed in one version, that of the worker."""
    plugin = find(name)
    if plugin is not None and version != installed:
        text = f"Plugin {plugin.name} not found that matches the version range [{version},{version}]"
        raise Refused(400, f"{text}, available versions: [{installed}]")


def require(config: Mapping[str, str]) -> PluginClass:
    if "connector.class" not in config:
        shown = ", ".join(f"{key}={value}" for key, value in config.items())
        raise Refused(400, f"Connector config {{{shown}}} contains no connector type")
    plugin = find(config["connector.class"])
    if plugin is None:
        there = ", ".join(f"PluginDesc{{klass=class {plugin.name}}}" for plugin in PLUGINS)
        text = "Failed to find any class that implements Connector and which name matches"
        raise Refused(400, f"{text} {config['connector.class']}, available connectors are: {there}")
    return plugin


def verdict(name: str, config: Mapping[str, str], *, exactly_once: bool) -> dict[str, Any]:
    """`PUT /connector-plugins/X/config/validate`. `exactly_once`: the worker supports exactly-once sources."""
    included = config.get("connector.class")
    if included is not None and not included.removesuffix("Connector").endswith(name.removesuffix("Connector")):
        raise Refused(400, f"Included connector type {included} does not match request type {name}")
    try:
        plugin = require(config)
    except Refused as refused:
        java = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "
        raise Refused(500, java + refused.message) from refused
    found = errors(plugin, config, exactly_once=exactly_once)
    return {
        "name": config["connector.class"],
        "error_count": sum(len(messages) for messages in found.values()),
        "groups": ["Common"],
        "configs": [
            {"definition": _definition(key, spec), "value": _value(key, spec, config, found.get(key, []))}
            for key, spec in keys_of(plugin).items()
        ],
    }


def check(config: Mapping[str, str | None], *, exactly_once: bool) -> PluginClass:
    """Validate a config as POST and PUT config do first: 400 with all errors."""
    if any(value is None for value in config.values()):
        raise Refused(400, _invalid(["Null value can not be supplied as the configuration value."]))
    given = {key: value for key, value in config.items() if value is not None}
    plugin = require(given)
    messages = [message for found in errors(plugin, given, exactly_once=exactly_once).values() for message in found]
    if messages:
        raise Refused(400, _invalid(messages))
    return plugin


def _invalid(messages: list[str]) -> str:
    lines = [f"Connector configuration is invalid and contains the following {len(messages)} error(s):", *messages]
    where = "`/connector-plugins/{connectorType}/config/validate`"
    lines.append(f"You can also find the above list of errors at the endpoint {where}")
    return "\n".join(lines)


def errors(plugin: PluginClass, config: Mapping[str, str], *, exactly_once: bool) -> dict[str, list[str]]:
    found = {key: messages for key, spec in keys_of(plugin).items() if (messages := _errors(key, spec, config))}
    if plugin.type == "sink" and not config.get("topics") and not config.get("topics.regex"):
        found |= {key: ["Must configure one of topics or topics.regex"] for key in ("topics", "topics.regex")}
    if plugin.type == "source":
        _check_exactly_once(plugin, config, found, exactly_once=exactly_once)
    return found


_UNCONFIRMED = (
    "The connector does not implement the API required for preflight validation of exactly-once source support. Please"
    " consult the documentation for the connector to determine whether it supports exactly-once semantics, and then"
    ' consider reconfiguring the connector to use the value "requested" for this property (which will disable this'
    " preflight check and allow the connector to be created)."
)
_BOUNDARY = (
    "The connector does not support connector-defined transaction boundaries with the given configuration. Please"
    " reconfigure it to use a different transaction boundary definition."
)
_READ_COMMITTED = (
    "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer is configured with"
    " isolation.level set to 'read_committed'; otherwise, records from aborted and uncommitted transactions will be"
    " replicated from the source cluster to the target cluster."
)


def _check_exactly_once(
    plugin: PluginClass, config: Mapping[str, str], found: dict[str, list[str]], *, exactly_once: bool
) -> None:
    """Add the errors of `DistributedHerder.validateSourceConnectorExactlyOnceSupport` and of MirrorMaker."""
    support, boundary = (
        config.get(key, "").strip().lower() for key in ("exactly.once.support", "transaction.boundary")
    )
    if support == "required" and "exactly.once.support" not in found:
        texts = [] if exactly_once else ["This worker does not have exactly-once source support enabled."]
        is_mirror = plugin.name.endswith("MirrorSourceConnector")
        if is_mirror and config.get("source.consumer.isolation.level") != "read_committed":
            texts = [_READ_COMMITTED]
        elif not is_mirror and not plugin.name.endswith("FileStreamSourceConnector"):
            texts.append(_UNCONFIRMED)
        found.update({"exactly.once.support": texts} if texts else {})
    if boundary == "connector":
        found["transaction.boundary"] = [_BOUNDARY]


def _errors(key: str, spec: Key, config: Mapping[str, str]) -> list[str]:
    value = config.get(key)
    if value is None:
        return [f'Missing required configuration "{key}" which has no default value.'] if spec.required else []
    prefix = f"Invalid value {value} for configuration {key}: "
    if spec.type in ("INT", "LONG"):
        return _number_errors(key, spec, value, prefix)
    if key == "name":
        return _name_errors(value, prefix)
    why = _why_not_accepted(key, spec, value)
    return [prefix + why] if why else []


def _why_not_accepted(key: str, spec: Key, value: str) -> str:
    if spec.type == "CLASS" and not value.startswith("org.apache.kafka.connect."):
        return f"Class {value} could not be found."
    if spec.type == "BOOLEAN" and value.strip().lower() not in ("true", "false"):
        return "Expected value to be either true or false"
    if spec.any_case and value.strip().lower() not in spec.words:
        return f"String must be one of (case insensitive): {', '.join(spec.words).upper()}"
    if spec.words and not spec.any_case and value.strip() not in spec.words:
        return f"String must be one of: {', '.join(spec.words)}"
    return "String must be non-empty" if key == "topic" and not value else ""


def _number_errors(key: str, spec: Key, value: str, prefix: str) -> list[str]:
    limit = 2 ** ({"INT": 32, "LONG": 64}[spec.type] - 1)
    number = int(value) if re.fullmatch(r"\s*[+-]?[0-9]+\s*", value) else limit
    if not -limit <= number < limit:
        messages = [f"{prefix}Not a number of type {spec.type}"]
        if spec.least is not None:
            messages.append(f"Invalid value null for configuration {key}: Value must be non-null")
        return messages
    if spec.least is not None and number < spec.least:
        return [f"{prefix}Value must be at least {spec.least}"]
    return []


def _name_errors(value: str, prefix: str) -> list[str]:
    if not value:
        return [f"{prefix}String may not be empty"]
    control = [str(ord(char)) for char in value if ord(char) < 32]
    if not control:
        return []
    return [f"{prefix}String may not contain control sequences but had the following ASCII chars: {', '.join(control)}"]


def _definition(key: str, spec: Key) -> dict[str, Any]:
    about = {"name": key, "type": spec.type, "required": spec.required, "default_value": spec.default}
    place = {"group": "Common", "order_in_group": 1, "width": "MEDIUM", "display_name": key, "dependents": []}
    return {**about, "importance": "HIGH", "documentation": "", **place}


def _value(key: str, spec: Key, config: Mapping[str, str], messages: list[str]) -> dict[str, Any]:
    value = config.get(key, spec.default)
    if spec.type == "PASSWORD" and value is not None:
        value = "[hidden]"
    return {"name": key, "value": value, "recommended_values": [], "errors": messages, "visible": True}
