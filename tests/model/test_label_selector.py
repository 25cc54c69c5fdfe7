"""Selectors of labels select what `kubectl --selector` selects."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from support.files.tables import rows

from gitops_connect.model.label_selector import parse_selector, selects


@pytest.mark.parametrize(("selector", "labels", "selected"), rows(__file__, "selected"))
def test_which_labels_are_selected(selector: str, labels: Mapping[str, str], *, selected: bool) -> None:
    assert selects(parse_selector(selector), labels) is selected


@pytest.mark.parametrize(("selector", "rest"), rows(__file__, "wrong"))
def test_what_is_no_selector(selector: str, rest: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(rest)}$"):
        parse_selector(selector)
