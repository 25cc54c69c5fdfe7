"""Takes the screenshots of the README and of the guide to the status page: `make pictures` writes docs/pictures.

The status page is that of a real daemon with a sandbox. The comment is what the program writes for the plan of
docs/pictures/plan.svg; a forge shows it with its own style.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import urlopen

from acceptance.workplace import SINK, SOURCE, change
from markdown_it import MarkdownIt
from picture import CLUSTER, REVISION, plan_of_picture

from gitops_connect.model.pull_requests import CommentOptions, PullRequestPlan
from gitops_connect.report.review_comment import review_comment
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from support.docs.docs_pages import DOCS
from support.server.browser import Browser, browser, find_chromium
from support.waiting import await_that

PICTURES = DOCS / "pictures"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; padding: 16px; background: #fff; color: #1f2328; width: 668px }
main { border: 1px solid #d1d9e0; border-radius: 6px; padding: 4px 16px }
code { font: 13px ui-monospace, monospace; background: #eff1f3; padding: 1px 5px; border-radius: 4px }
pre { background: #f6f8fa; padding: 10px; overflow: hidden } pre code { background: none; padding: 0 }
h3 { border-bottom: 1px solid #d1d9e0; padding-bottom: 4px } a { color: #0969da; text-decoration: none }
.add { color: #116329 } .del { color: #a40e26 }
"""


def connector(name: str, plugin: str, **spec: str) -> str:
    """A document; the values of `spec` are YAML."""
    fields = "".join(f"  {field}: {value}\n" for field, value in {"class": plugin, **spec}.items())
    return f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {name}}}\nspec:\n{fields}"


def documents(directory: Path) -> dict[str, str]:
    """Connectors that work, one that fails, and one that is paused."""
    source = directory / "orders.txt"
    source.write_text("order 1\norder 2\norder 3\n")
    return {
        "orders-source": connector("orders-source", SOURCE, config=f"{{file: {source}, topic: orders}}"),
        "orders-sink": connector("orders-sink", SINK, config=f"{{file: {directory}/orders-copy.txt, topics: orders}}"),
        "payments-sink": connector("payments-sink", SINK, config="{file: /mnt/archive/payments.txt, topics: payments}"),
        "returns-source": connector(
            "returns-source", SOURCE, config=f"{{file: {source}, topic: returns}}", state="paused"
        ),
        "shipments-sink": connector("shipments-sink", SINK, config=f"{{file: {directory}/s.txt, topics: shipments}}"),
    }


def rewind(directory: Path) -> str:
    """A rewind that nobody has acknowledged."""
    place = f"{{partition: {{filename: {directory / 'orders.txt'}}}, offset: {{position: 8}}}}"
    return change("2026-11-22-read-orders-again", "orders-source", f"operation: alter\noffsets: [{place}]")


def write_repository(directory: Path, worker: str) -> None:
    """A Git repository with the documents, and the settings of a daemon with its page."""
    (directory / "gitops-connect.toml").write_text(
        f'[repository]\nurl = "."\npath = "connectors"\ninterval = "2s"\n[state]\nurl = "sqlite:///state.db"\n'
        f'[clusters.{CLUSTER}]\nurl = ["{worker}"]\n[server]\nlisten = "127.0.0.1:8090"\n'
    )
    target = directory / "connectors" / "clusters" / CLUSTER
    target.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=directory, check=True)
    commit(directory, "Five connectors", **documents(directory))


def commit(directory: Path, subject: str, **files: str) -> None:
    for name, text in files.items():
        (directory / "connectors" / "clusters" / CLUSTER / f"{name}.yaml").write_text(text)
    as_author = ["git", "-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.com"]
    for command in (["add", "connectors"], ["commit", "-qm", subject]):
        subprocess.run([*as_author, *command], cwd=directory, check=True)


PAGES = {
    "status-page": "/connectors",
    "fleet": "/",
    "failed-connector": f"/clusters/{CLUSTER}/connectors/payments-sink",
    "blocked-connector": f"/clusters/{CLUSTER}/connectors/orders-source",
}


def status_page(one: Browser, directory: Path) -> None:
    """The page of a real daemon, once each connector has shown whether it works."""
    with Sandbox.up(SandboxOptions(directory=directory / "sandbox", tied=True)) as sandbox:
        write_repository(directory, sandbox.worker_urls[0])
        command = [str(Path(sys.executable).with_name("gitops-connect")), "run"]
        with subprocess.Popen(command, cwd=directory, stderr=subprocess.DEVNULL) as daemon:
            try:
                await_that(lambda: has_verdicts("failed", "ok"))
                commit(directory, "Read orders again", read_again=rewind(directory))
                await_that(lambda: has_verdicts("failed", "blocked"))
                for name, path in PAGES.items():
                    one.open(f"http://127.0.0.1:8090{path}", width=1000, height=560)
                    one.await_that("document.getElementById('connection').textContent === 'Live'")
                    one.screenshot(PICTURES / f"{name}.png")
            finally:
                daemon.terminate()


def has_verdicts(*kinds: str) -> bool:
    """Whether the daemon has found connectors with all these verdicts, and none that still starts."""
    try:
        with urlopen("http://127.0.0.1:8090/api/v1/connectors") as answer:
            verdicts = json.load(answer)["verdicts"]
    except OSError:
        return False
    return all(verdicts[kind] for kind in kinds) and not verdicts["progressing"]


def comment() -> str:
    """The comment on a pull request as a page."""
    plan = plan_of_picture()
    reviewed = PullRequestPlan(7, REVISION, "main", (plan,), digest=plan.digest, diagnostics=plan.diagnostics)
    forge = "https://git.example/shop/connect"
    text = review_comment(reviewed, CommentOptions(f"{forge}/blob/{REVISION}/", "", 65_536))
    shown = MarkdownIt("commonmark").enable("table").render(text.partition("### Next")[0])
    coloured = re.sub(r"^(<pre><code[^>]*>)?([+-]) .*$", _coloured, shown, flags=re.MULTILINE)
    return f"<style>{STYLE}</style><main>{coloured}</main>".replace("<details>", "<details open>")


def _coloured(line: re.Match[str]) -> str:
    head = line[1] or ""
    return f'{head}<span class="{KINDS[line[2]]}">{line[0].removeprefix(head)}</span>'


KINDS = {"+": "add", "-": "del"}


def main() -> None:
    """Write all screenshots."""
    program = find_chromium()
    if program is None:
        sys.exit("No Chromium was found. On Debian: apt install chromium")
    with tempfile.TemporaryDirectory() as name, browser(program, Path(name) / "chromium") as one:
        page = Path(name) / "comment.html"
        page.write_text(comment())
        one.open(page.as_uri(), width=700, height=760)
        one.screenshot(PICTURES / "pull-request.png")
        status_page(one, Path(name))


if __name__ == "__main__":
    main()
