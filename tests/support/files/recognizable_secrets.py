"""Secrets of every kind, made up for the tests: keys of secrets, and values with forms of their own.

A secret is put together from parts, so that no scanner of repositories takes it for a real one.
"""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

from support.files.tables import read_yaml

A, N, H = "aB3dE6gH9kL2nP5rS8uV1xY4zC7fJ0mQ", "0123456789", "0123456789abcdef0123456789abcdef"
"""Characters of which tokens consist: letters and digits, digits, hexadecimal digits."""
WORD = "Tr0ub4dor-and-3"
"""A password without a form of its own."""
DER = "MII" + "Ev" + "QIBADANBgkqhkiG9w0BAQEFAASC" + A * 20
BASIC = b64encode(f"user:{WORD}".encode()).decode()
_PARTS = {
    "A": A,
    "N": N,
    "H": H,
    "WORD": WORD,
    "DER": DER,
    "BASIC": BASIC,
    "KEY": "QYLPMN5HFIQR7XYA",
    "JWT": f"eyJ{A}.eyJ{A}{A}.{A}",
    "JAAS": "org.apache.kafka.common.security.plain.PlainLoginModule required",
}
_PART = re.compile(rf"<({'|'.join(_PARTS)})(\d*)>")
_READ = read_yaml(Path(__file__).with_suffix(".yaml"))


def _whole(value: str) -> str:
    return _PART.sub(lambda part: _PARTS[part[1]][: int(part[2]) if part[2] else None], value)


BY_KEY = dict.fromkeys(_READ["by_key"].split(), WORD)
"""Keys whose names say that the value is a secret."""
BY_FORM = [(kind, _whole(value)) for kind, values in _READ["by_form"].items() for value in values]
"""Values whose form says that they are or contain a secret, under any key, each with its kind."""
