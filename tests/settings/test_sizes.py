from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.errors import UsageError
from gitops_connect.model.names import ClusterName
from gitops_connect.settings.coerce import parse_size
from gitops_connect.settings.settings_file import load_settings


def heap(directory: Path, line: str, environment: dict[str, str] | None = None) -> int:
    file = directory / "gitops-connect.toml"
    file.write_text(f'[repository]\nurl = "r"\n[clusters.local]\nurl = "http://127.0.0.1:8083"\n{line}\n')
    return load_settings(file, environment or {}).clusters[ClusterName("local")].worker_heap


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GiB", 2**31),
        ("512 MiB", 2**29),
        ("1.5gib", 3 * 2**29),
        ("64KiB", 2**16),
        ("2g", 2**31),
        ("2048M", 2**31),
        ("2147483648", 2**31),
        (" 100 B ", 100),
        ("0", 0),
        (0, 0),
        (2**31, 2**31),
    ],
)
def test_sizes_are_read_as_people_and_java_write_them(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "2GB", "2 gigs", "-1", "1e9", "2GiB3MiB", "٣", "nan", -1, 1.5, True, None, []]
)
def test_what_is_no_size_is_refused(text: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the loader says which setting it was
        parse_size(text)


def test_the_heap_of_a_worker_is_a_setting_of_its_cluster(tmp_path: Path) -> None:
    assert heap(tmp_path, "") == 2**31
    assert heap(tmp_path, 'worker_heap = "4GiB"') == 2**32
    assert heap(tmp_path, "worker_heap = 0") == 0
    assert heap(tmp_path, "", {"GITOPS_CONNECT_CLUSTERS__LOCAL__WORKER_HEAP": "1GiB"}) == 2**30


def test_a_wrong_size_names_the_setting_and_says_what_one_looks_like(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"worker_heap: expected a size such as 2GiB or 512MiB, found '2GB'"):
        heap(tmp_path, 'worker_heap = "2GB"')
