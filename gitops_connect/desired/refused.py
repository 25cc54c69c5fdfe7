"""Why a document is not read any further; `desired.yaml` converts it to a diagnostic."""

from __future__ import annotations


class Refused(Exception):
    """One reason, with its place: line and column from 1, in the whole file."""

    def __init__(self, rule: str, summary: str, place: tuple[int, int], hint: str = "") -> None:
        super().__init__(summary)
        self.rule = rule
        self.summary = summary
        self.place = place
        self.hint = hint
