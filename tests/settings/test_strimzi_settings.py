from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.errors import UsageError
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


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('[strimzi]\nversion = "new"\n', 'expected a version of Strimzi such as "0.45" or "1.2", found \'new\''),
        ("[strimzi]\nversion = 1.2\n", 'expected a version of Strimzi such as "0.45" or "1.2", found 1.2'),
        ('[strimzi.placeholders]\n"${strimzienv:" = "env:"\n', "expected the text after `${`"),
        ('[strimzi.placeholders]\n"strimzienv:" = ""\n', "expected the text after `${`"),
        (CLUSTERS + 'strimzi = "my-mirror"\n', "'my-mirror' already means [clusters.local]"),
        (CLUSTERS + 'strimzi = "local"\n', "'local' already means [clusters.local]"),
        *(
            (f'[strimzi]\noutput_branch = "{name}"\n', "is the branch that gitops-connect follows")
            for name in ("main", "MAIN", "main/", "m\uff41in")
        ),
        *(
            (f'[strimzi]\noutput_branch = "{name}"\n', "[strimzi] output_branch: expected the short name of a branch")
            for name in (
                "refs/heads/main",
                "heads/main",
                "/main",
                "refs//heads/main",
                "refs/heads/../heads/main",
                "HEAD",
            )
        ),
        ('[strimzi]\noutput_branch = "a/b"\n[repository]\nbranch = "refs/heads/a/b"\n', "'a/b' is the branch that"),
    ],
)
def test_what_cannot_be_meant_is_rejected(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(UsageError) as raised:
        _load(tmp_path, text)
    assert error in str(raised.value)


@pytest.mark.parametrize("name", ["", "offsets", "main-offsets", "offsets/main", "headsman"])
def test_other_branches_are_accepted(tmp_path: Path, name: str) -> None:
    assert _load(tmp_path, f'[strimzi]\noutput_branch = "{name}"\n').strimzi.output_branch == name
