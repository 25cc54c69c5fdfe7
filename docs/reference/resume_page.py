"""The page that says what decides where each known connector class resumes, from the rules of the plan."""

from __future__ import annotations

from generated_tables import NOTICE, cell

from gitops_connect.model.differences import Direction, ResumeAspect
from gitops_connect.model.resume import ALL, Condition, ResumeRule, ResumeRules
from gitops_connect.model.resume_rules import PLAIN_SINK, PLAIN_SINKS, RESUME_RULES, SINK

CONNECTORS_INTRODUCTION = """\
Connect stores the offsets of a connector, but often something else also decides where the connector resumes: a
replication slot, the logs that a database still has, a schema history topic. This page lists, for each known class,
what decides, what an earlier position needs, and what a later position risks. `plan`, `offsets diff` and
`offsets check` show the lines that apply to a change and to the config of its connector.

**external** marks what a document must acknowledge with `acknowledge: [external]`: Connect's offset alone does not
decide.

The first table is for a config that sets none of the keys that the tables below it name. If a table names two keys, the
first one that the config has decides.
"""
_DIRECTION_WORDS = {
    Direction.REWIND: "rewind",
    Direction.FORWARD: "forward",
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
    lines += ["| class | what decides | what a rewind needs | what a forward risks |", "| --- | --- | --- | --- |"]
    for known, names in by_rules.items():
        plain = known.of({})
        rewind, forward = (_of_direction(plain, one) for one in (Direction.REWIND, Direction.FORWARD))
        lines.append(f"| {_classes(names)} | {cell(known.decides)} | {rewind} | {forward} |")
    for known, names in by_rules.items():
        lines += ["", f"## {_classes(names, ', ')}", "", "| offset | what is said | for configs with |"]
        lines += ["| --- | --- | --- |", *map(_resume_row, known.rules)]
    return "\n".join(lines) + "\n"


def _classes(names: list[str], separator: str = "<br>") -> str:
    return separator.join(name.rpartition(".")[2] if name.startswith("org.apache") else name for name in names)


def _of_direction(known: ResumeRules, direction: Direction) -> str:
    shown = (ResumeAspect.DECIDES, ResumeAspect.NEEDS, ResumeAspect.RISK, ResumeAspect.AGAIN)
    lines = [line for line in known.lines([direction]) if line.aspect in shown]
    return "<br>".join(_said(line.aspect, line.message, external=line.external) for line in lines) or "nothing"


def _said(aspect: ResumeAspect, message: str, *, external: bool) -> str:
    return cell(f"{aspect.value}: {message}{' (**external**)' if external else ''}")


def _resume_row(rule: ResumeRule) -> str:
    words = [word for one, word in _DIRECTION_WORDS.items() if one in rule.directions]
    directions = "all" if rule.directions == ALL else ", ".join(words)
    said = _said(rule.aspect, rule.message, external=rule.external)
    return f"| {directions} | {said} | {cell('; '.join(map(_condition, rule.when)) or 'any value')} |"


def _condition(condition: Condition) -> str:
    words = " or ".join(f"`{key}: {'|'.join(sorted(values))}`" for key, values in condition.keys)
    return f"not: {words}" if condition.negated else words
