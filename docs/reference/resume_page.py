"""The page about the resume position of each known connector class, from the rules of the plan."""

from __future__ import annotations

from generated_tables import NOTICE, cell

from gitops_connect.model.differences import Direction, ResumeAspect
from gitops_connect.model.resume import ALL, Condition, ResumeRule, ResumeRules
from gitops_connect.model.resume_rules import PLAIN_SINK, PLAIN_SINKS, RESUME_RULES, SINK

CONNECTORS_INTRODUCTION = """\
Connect stores the offsets of a connector, but the offset alone often does not decide where the connector resumes. A
replication slot, the logs that the database still has, or a schema history topic also decide. This page lists the lines
that `plan`, `offsets diff` and `offsets check` show for each known connector class.

| line | meaning |
| --- | --- |
| `resume position` | What decides besides the offset. If the line is marked **external**, the document must contain \
`acknowledge: [external]`. |
| `needs` | What the source system must still have. |
| `risk` | What can go wrong. |
| `effect` | What the connector does. |
| `to read rows again` | How to read rows again if the earlier offset alone is not enough. |

The first table is for a config that sets none of the keys in the last column of the tables below it. If a condition
names two keys, the first key that the config sets decides.
"""
_DIRECTION_WORDS = {
    Direction.REWIND: "rewind",
    Direction.FORWARD: "skip",
    Direction.NEW: "new",
    Direction.REMOVED: "removed",
}


def connectors() -> str:
    """What decides where each class resumes."""
    by_rules: dict[ResumeRules, list[str]] = {}
    for name, of_class in RESUME_RULES.items():
        by_rules.setdefault(of_class, []).append(name)
    by_rules[PLAIN_SINK] = sorted(PLAIN_SINKS)
    by_rules[SINK] = ["every other sink"]
    lines = ["# Where connectors resume", "", NOTICE, CONNECTORS_INTRODUCTION]
    lines += ["| connector class | what decides where it resumes | rewind | skip |", "| --- | --- | --- | --- |"]
    for known, names in by_rules.items():
        plain = known.of({})
        rewind, forward = (_of_direction(plain, one) for one in (Direction.REWIND, Direction.FORWARD))
        lines.append(f"| {_classes(names)} | {cell(known.decides)} | {rewind} | {forward} |")
    for known, names in by_rules.items():
        lines += [
            "",
            f"## {_classes(names, ', ')}",
            "",
            "| change of the offset | line in the plan | shown if |",
        ]
        lines += ["| --- | --- | --- |", *map(_resume_row, known.rules)]
    return "\n".join(lines) + "\n"


def _classes(names: list[str], separator: str = "<br>") -> str:
    return separator.join(name.rpartition(".")[2] if name.startswith("org.apache") else name for name in names)


def _of_direction(known: ResumeRules, direction: Direction) -> str:
    shown = (ResumeAspect.DECIDES, ResumeAspect.NEEDS, ResumeAspect.RISK, ResumeAspect.AGAIN)
    lines = [line for line in known.lines([direction]) if line.aspect in shown]
    return "<br>".join(_said(line.aspect, line.message, external=line.external) for line in lines) or "no line"


def _said(aspect: ResumeAspect, message: str, *, external: bool) -> str:
    return cell(f"{aspect.value}: {message}{' (**external**)' if external else ''}")


def _resume_row(rule: ResumeRule) -> str:
    words = [word for one, word in _DIRECTION_WORDS.items() if one in rule.directions]
    directions = "any" if rule.directions == ALL else ", ".join(words)
    said = _said(rule.aspect, rule.message, external=rule.external)
    return f"| {directions} | {said} | {cell(' and '.join(map(_condition, rule.when)) or 'always')} |"


def _condition(condition: Condition) -> str:
    tests = [f"`{key}` {_is(values, negated=condition.negated)}" for key, values in condition.keys]
    if len(tests) == 1:
        return tests[0]
    return " and ".join(tests) if condition.negated else f"({' or '.join(tests)})"


def _is(values: frozenset[str], *, negated: bool) -> str:
    *most, last = (f"`{value}`" for value in sorted(values))
    listed = f"{', '.join(most)} or {last}" if most else last
    return f"is not {listed}" if negated else f"is {listed}"
