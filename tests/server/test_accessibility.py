"""Every page under the rules of axe-core, at the widths of a desktop and of a phone. npm brings axe-core."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.files.tables import table
from support.server.browser import Browser, browser, find_chromium

from gitops_connect.safe_files import locked_file
from gitops_connect.sandbox.jars import cache_directory

VERSION = "4.10.3"
CHROMIUM = find_chromium()
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; on Debian: apt install chromium"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed; on Debian: apt install npm"),
]
RUN = """
  window.found = null;
  axe.run().then((result) => {
    window.found = JSON.stringify(result.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]));
  });
  0
"""


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, downloaded once."""
    directory = cache_directory(os.environ)
    directory.mkdir(parents=True, exist_ok=True)
    archive = directory / f"axe-core-{VERSION}.tgz"
    with locked_file(directory / ".axe-core.lock"):
        if not archive.exists():
            command = ["npm", "pack", f"axe-core@{VERSION}", "--silent"]
            subprocess.run(command, cwd=directory, check=True, timeout=120)
    with tarfile.open(archive) as packed:
        member = packed.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    with browser(CHROMIUM, tmp_path_factory.mktemp("chromium")) as one:
        yield one


@pytest.mark.parametrize("width", [1440, 400])
def test_no_page_violates_a_rule(chromium: Browser, url: str, axe: str, width: int) -> None:
    for name, path in table(Path(__file__).with_name("test_browser.py"), "pages").items():
        chromium.open(url + path, width=width)
        chromium.evaluate(f"{axe};0")
        chromium.evaluate(RUN)
        chromium.await_that("window.found !== null")
        assert json.loads(chromium.evaluate("window.found")) == [], name
