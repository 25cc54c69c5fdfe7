"""Hostile values, and writers of a config in the syntax of each format that `convert` reads: for round trips."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import yaml
from hypothesis import strategies as st

HOSTILE = [
    *("true", "False", "yes", "No", "on", "y", "null", "~", "", " ", "  x  ", "x ", "\t", "=", "<<", "- a", "? a", "*"),
    *("0777", "1.10", "12:30", "12:30:00", "2026-11-23", "1e5", "0o17", "0x1F", "-0", "+1", ".5", ".inf", "1_000"),
    *("a: b", "a:", ":a", "a #b", "#a", "'", '"', "\\", "\\n", "%a", "@a", "`a", "!a", "&a", "a,b", "[a]", "{a}", "|"),
    *("---", "...", "\n---\n", "a\n---\nb", "a\nb", "a\nb\n", "a\nb\n\n", "\na", " a\nb", "a\n b", "a \nb", "a\n\nb"),
    *("a\r\nb", "a\rb", "\n", "a\n", "\u2028", "\u0085", "\ufeff", "\x00", "\x7f", "\x1b[1m", "\U0001f600", "\u0301"),
    *("a" * 2000, "jdbc:postgresql://db/shop?a=b", "${file:/run/secrets/db:password}", "ä", "$1", "a\tb", "*a\n&b"),
    *("  a", "a=b", "a:b", ":", "a\\", "\\u0041", "\\\\", "''", "it's", '""', "`", "$", "$$", "${", "}", "$${a}", "\f"),
    *("%{if}", "%%{", "{{ a }}", "//", "/* a */", "--", "-- a", ";", ",", ")", "<<EOT", "é\u0301", "${secrets:a/b:c}"),
]
texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
WHITESPACE = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
Config = Mapping[str, str]
Writer = Callable[[str, Config], bytes]


def json_body(name: str, config: Config) -> bytes:
    return json.dumps({"name": name, "config": dict(config)}).encode()


def json_flat(name: str, config: Config) -> bytes:
    return json.dumps({"name": name, **config}, ensure_ascii=False, indent="\t").encode()


def json_list(name: str, config: Config) -> bytes:
    return json.dumps([{"name": name, "config": {"name": name, **config}}]).encode()


def json_expanded(name: str, config: Config) -> bytes:
    info = {"name": name, "config": {"name": name, **config}, "tasks": [], "type": "sink"}
    return json.dumps({name: {"info": info}}).encode()


def jikkou(name: str, config: Config) -> bytes:
    rest = {key: value for key, value in config.items() if key != "connector.class"}
    spec = {"connectorClass": config["connector.class"], "config": rest}
    head = {"apiVersion": "kafka.jikkou.io/v1beta2", "kind": "KafkaConnector", "metadata": {"name": name}}
    return json.dumps({**head, "spec": spec}).encode()


def confluent(name: str, config: Config) -> bytes:
    rest = {key: value for key, value in config.items() if key != "connector.class"}
    spec = {"name": name, "class": config["connector.class"], "configs": rest}
    return json.dumps({"apiVersion": "platform.confluent.io/v1beta1", "kind": "Connector", "spec": spec}).encode()


def msk(name: str, config: Config) -> bytes:
    return json.dumps({"connectorName": name, "connectorConfiguration": dict(config), "capacity": {}}).encode()


def properties(name: str, config: Config) -> bytes:
    lines = [f"{_property(key, ' =:#!')}={_property(value, '', lead=True)}\n" for key, value in config.items()]
    return f"# a comment\nname: {_property(name, '', lead=True)}\n{''.join(lines)}".encode("latin-1")


def _property(text: str, special: str, *, lead: bool = False) -> str:
    found = []
    for at, character in enumerate(text):
        if character in special or character == "\\" or (lead and at == 0 and character == " "):
            found.append(f"\\{character}")
        elif character in "\t\n\r\f":
            found.append({**WHITESPACE, "\f": "\\f"}[character])
        elif " " <= character <= "~":
            found.append(character)
        else:
            units = character.encode("utf-16-be")
            found += [f"\\u{units[one] << 8 | units[one + 1]:04x}" for one in range(0, len(units), 2)]
        if at % 7 == 6:
            found.append("\\\n" if text[at + 1 : at + 2] not in (" ", "#", "!") else "")
    return "".join(found)


def terraform(name: str, config: Config) -> bytes:
    items = "".join(f"    {_quoted(key)} = {_quoted(value)}\n" for key, value in config.items())
    body = f"  name = {_quoted(name)}\n  config = {{\n    # a comment\n{items}  }}\n"
    return f'variable "x" {{}}\n\nresource "kafka-connect_connector" "x" {{\n{body}}}\n'.encode()


def terraform_aiven(name: str, config: Config) -> bytes:
    items = "".join(f"    {_quoted(key)} = {_quoted(value)}\n" for key, value in config.items())
    body = "  connector_name = local.name\n  config = merge(local.config, {})\n"
    local = f"locals {{\n  name = {_quoted(name)}\n  config = {{\n{items}  }}\n}}\n"
    return f'{local}resource "aiven_kafka_connector" "x" {{\n{body}}}\n'.encode()


def _quoted(text: str) -> str:
    escaped = text.translate(str.maketrans({'"': '\\"', "\\": "\\\\", **WHITESPACE}))
    printable = (one if one.isprintable() else f"\\U{ord(one):08x}" for one in escaped)
    return f'"{_template("".join(printable))}"'


def _template(text: str) -> str:
    return text.replace("${", "$${").replace("%{", "%%{")


def terraform_json(name: str, config: Config) -> bytes:
    values = {_template(key): _template(value) for key, value in config.items()}
    resource = {"name": _template(name), "config": values}
    return json.dumps({"resource": {"kafka-connect_connector": {"x": resource}}}).encode()


def terraform_state(name: str, config: Config) -> bytes:
    attributes = {"id": name, "name": name, "config": dict(config), "config_sensitive": None}
    resource = {"type": "kafka-connect_connector", "name": "x", "instances": [{"attributes": attributes}]}
    return json.dumps({"version": 4, "terraform_version": "1.9.0", "resources": [resource]}).encode()


def ksqldb(name: str, config: Config) -> bytes:
    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    items = ",\n".join(f"  {quoted(key)} = {quoted(value.replace('${', '$${'))}" for key, value in config.items())
    name = name.replace("`", "``")
    return f"-- 'a comment'\nSHOW TOPICS;\nCREATE SINK CONNECTOR `{name}` WITH (\n{items}\n);\n".encode()


def shell(name: str, config: Config) -> bytes:
    body = json_body(name, config).decode().replace("'", "'\\''")
    return f"#!/bin/sh\n# it's a comment\ncurl -s -d '{body}' \"$URL/connectors\" | jq .name\n".encode()


def heredoc(name: str, config: Config) -> bytes:
    body = re.sub(r"([\\$`])", r"\\\1", json_body(name, config).decode())
    return f'BODY=$(cat <<-EOF\n\t{body}\n\tEOF\n)\ncurl --json "$BODY" http://connect:8083/connectors\n'.encode()


def requests(name: str, config: Config) -> bytes:
    body = json_body(name, config).decode().replace("{{", "{\\u007b")
    return f"@host = x\n### a comment\nPOST {{{{host}}}}/connectors\nA: b\n\n{body}\n\n###\nGET /connectors\n".encode()


def compose(name: str, config: Config) -> bytes:
    command = ["bash", "-c", shell(name, config).decode().replace("$", "$$")]
    return yaml.safe_dump({"services": {"setup": {"command": command}}}, allow_unicode=True).encode()


def config_map(name: str, config: Config) -> bytes:
    data = {"a.txt": "b", "orders.json": json_body(name, config).decode()}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "data": data}).encode()


WRITERS: Mapping[str, Writer] = {
    "body.json": json_body,
    "flat.json": json_flat,
    "list.json": json_list,
    "expanded.json": json_expanded,
    "jikkou.yaml": jikkou,
    "orders.properties": properties,
    "orders.tf": terraform,
    "orders.tf.json": terraform_json,
    "terraform.tfstate": terraform_state,
    "orders.sql": ksqldb,
    "confluent.yaml": confluent,
    "msk.json": msk,
    "aiven.tf": terraform_aiven,
    "orders.sh": shell,
    "orders": heredoc,
    "orders.http": requests,
    "compose.yaml": compose,
    "map.yml": config_map,
}
