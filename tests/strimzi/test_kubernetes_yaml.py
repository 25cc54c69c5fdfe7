"""The values are those that `yaml.YAMLToJSON` of sigs.k8s.io/yaml 1.6.0 printed for `k: TEXT` (Go 1.26)."""

from __future__ import annotations

import json

import pytest

from gitops_connect.documents.fields import read
from gitops_connect.documents.kubernetes_yaml import KUBERNETES
from gitops_connect.documents.nodes import compose

VALUES = """
y               true
Yes             true
yEs             "yEs"
on              true
OFF             false
n               false
TRUE            true
tRUE            "tRUE"
~               null
nULL            "nULL"
10:30           "10:30"
190:20:30       "190:20:30"
1e6             1000000
1.5e3           1500
0o17            15
017             15
0089            89
0_8             8
08.5            8.5
0b101           5
-0b101          -5
0b2             "0b2"
0o8             "0o8"
-0x1F           -31
0X1f            31
0xg             "0xg"
1__0_           10
_1              "_1"
+12             12
-0.0            0
1.0             1
1.50            1.5
1.              1
-.5             -0.5
.5e1            5
.1_0            0.1
._5             "._5"
.               "."
1e              "1e"
1e400           "1e400"
1e20            100000000000000000000
1e21            1e+21
123456789012345678901     123456789012345680000
9223372036854775808       9223372036854775808
-9223372036854775809      -9223372036854776000
18446744073709551616      18446744073709552000
0x1FFFFFFFFFFFFFFFFF      "0x1FFFFFFFFFFFFFFFFF"
0.000001        0.000001
1.5e-9          1.5e-9
9007199254740993.0        9007199254740992
2024-01-01      "2024-01-01"
2024-1-1 10:00:00         "2024-1-1 10:00:00"
1,000           "1,000"
=               "="
<<              "<<"
"yes"           "yes"
! 5             "5"
!!str 5         "5"
"""
DOCUMENTS = [
    ("a: 1\n<<: {a: 2, b: 3}\n", {"a": 2, "b": 3}),
    ("<<: {a: 2, b: 3}\na: 1\n", {"a": 1, "b": 3}),
    ("<<: [{a: 2}, {a: 3}]\n", {"a": 2}),
    ("on: 1\n", {"true": 1}),
    ("0x10: 1\n", {"16": 1}),
    ("2001-01-01: 1\n", {"2001-01-01": 1}),
    ("k: >\n  yes\n", {"k": "yes\n"}),
    ("a: 1\r\nb: |\r\n  x\r\n  y\r\n", {"a": 1, "b": "x\ny\n"}),
]
REFUSED = [
    ("k: .inf\n", "yaml/number"),
    ("k: -.Inf\n", "yaml/number"),
    ("k: .NaN\n", "yaml/number"),
    ("~: 1\n", "yaml/key"),
    ("1.5: 1\n", "yaml/key"),
    ("a: 1\na: 2\n", "yaml/duplicate-key"),
    ("y: 1\ntrue: 2\n", "yaml/duplicate-key"),
    ("k: !!binary aGk=\n", "yaml/tag"),
]


def _value(text: str) -> object:
    (root,) = compose(text, 1)
    reading = read(root, KUBERNETES)
    assert not reading.refusals
    return reading.value


def test_scalars_are_read_as_kubectl_reads_them() -> None:
    for line in VALUES.strip().splitlines():
        text, shown = line.rsplit(maxsplit=1) if "  " not in line else line.split("  ", 1)
        value, expected = _value(f"k: {text}\n")["k"], json.loads(shown)  # type: ignore[index]
        assert (value, type(value)) == (expected, type(expected)), text


@pytest.mark.parametrize(("text", "value"), DOCUMENTS)
def test_mappings_are_read_as_kubectl_reads_them(text: str, value: object) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(("text", "rule"), REFUSED)
def test_what_json_cannot_hold_is_refused(text: str, rule: str) -> None:
    (root,) = compose(text, 1)
    assert [refusal.rule for refusal in read(root, KUBERNETES).refusals] == [rule]
