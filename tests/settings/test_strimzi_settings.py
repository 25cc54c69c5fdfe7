from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import NEWEST, StrimziOptions, StrimziVersion
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings

CLUSTERS = """
[clusters.local]
url = ["http://a:8083"]
strimzi = ["my-connect", "my-mirror"]
[clusters.prod]
url = ["http://b:8083"]
"""


def _load(directory: Path, text: str) -> Settings:
    file = directory / "gitops-connect.toml"
    file.write_text(text)
    return load_settings(file, {})


def test_the_options_for_strimzi_resources(tmp_path: Path) -> None:
    text = CLUSTERS + '[strimzi]\nversion = "0.45.1"\n[strimzi.placeholders]\n"strimzienv:" = "env:"\n'
    names = dict.fromkeys(("my-connect", "my-mirror"), ClusterName("local"))
    expected = StrimziOptions(StrimziVersion(0, 45), names, {"strimzienv:": "env:"})
    assert _load(tmp_path, text).strimzi_options == expected
    assert _load(tmp_path, CLUSTERS).strimzi_options.version == NEWEST > StrimziVersion(0, 49)


@pytest.mark.parametrize("name", ["", "offsets", "main-offsets", "offsets/main", "headsman"])
def test_other_branches_are_accepted(tmp_path: Path, name: str) -> None:
    assert _load(tmp_path, f'[strimzi]\noutput_branch = "{name}"\n').strimzi.output_branch == name
