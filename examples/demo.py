"""`make demo`: a real Kafka and Connect on this machine, and one repository planned, applied, changed.

Everything happens in a temporary folder, and nothing of it is left at the end but the downloaded Kafka.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent / "repo"
DATA_OF_EXAMPLES = "/tmp/gitops-connect-demo"  # noqa: S108 - the folder that the example's documents name
COMMAND = Path(sys.executable).with_name("gitops-connect")
ORDERS = "order 1: two books\norder 2: a lamp\norder 3: nine screws\n"
CHANGE_OF_OFFSETS = Path(__file__).resolve().parent / "changes" / "orders-again.yaml"
AN_ORDER_SOURCE = "clusters/local/orders.yaml"


def main() -> int:
    """Run the demo; the sandbox is taken down whatever happens."""
    with tempfile.TemporaryDirectory(prefix="gitops-connect-demo-") as folder:
        work = Path(folder)
        sandbox = work / "sandbox"
        try:
            demo(work, sandbox)
        except (subprocess.CalledProcessError, TimeoutError) as error:
            print(f"\nthe demo failed: {error}", file=sys.stderr)
            return 1
        finally:
            title("Stop everything")
            show("sandbox", "down", "--dir", str(sandbox), "--purge", cwd=work)
    return 0


def demo(work: Path, sandbox: Path) -> None:
    """All acts."""
    title("A real one-node Kafka and Connect (the first start downloads them)")
    data = work / "data"
    data.mkdir()
    (data / "orders.txt").write_text(ORDERS)
    show("sandbox", "up", "--dir", str(sandbox), cwd=work)
    settings(work, sandbox)
    repository = commit_examples(work, data)

    title("Validate and plan a repository of connectors")
    show("validate", cwd=work)
    show("plan", cwd=work)
    title("Apply the plan")
    show("apply", "--yes", cwd=work)
    show("status", cwd=work)
    title("The result: the connectors copied the lines of a file through Kafka to another file")
    print(wait_for_lines(data / "orders-copy.txt", len(ORDERS.splitlines())))

    title("Change a document, commit, and plan again")
    document = repository / AN_ORDER_SOURCE
    document.write_text(document.read_text().replace("batch.size: 100", "batch.size: 500"))
    git(repository, "diff", "--unified=1")
    git(repository, "commit", "--quiet", "--all", "--message", "orders: read larger batches")
    show("plan", "--out", "plan.json", cwd=work)
    title("Apply the saved plan that was reviewed")
    show("apply", "plan.json", cwd=work)
    title("Plan again: the cluster is in sync")
    show("plan", "--detailed-exitcode", cwd=work)
    change_offsets(work, data, repository)


def change_offsets(work: Path, data: Path, repository: Path) -> None:
    """The acts with offsets."""
    title("Change offsets: the source reads two of its lines again, once")
    show("offsets", "get", "orders-source", cwd=work)
    change = repository / CHANGE_OF_OFFSETS.name
    change.write_text(CHANGE_OF_OFFSETS.read_text().replace(DATA_OF_EXAMPLES, str(data)))
    print(f"\n$ cat {change.name}\n{change.read_text()}")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "orders: read the last two again")
    show("plan", cwd=work)
    show("apply", "--yes", cwd=work)
    print(wait_for_lines(data / "orders-copy.txt", len(ORDERS.splitlines()) + 2))
    title("The change was applied once and is not planned again. Another change can undo it")
    show("plan", "--detailed-exitcode", cwd=work)
    show("offsets", "history", "orders-source", cwd=work)
    show("offsets", "undo", "2026-11-21-orders-again", cwd=work)


def settings(work: Path, sandbox: Path) -> None:
    """Write `gitops-connect.toml`, with the address that the sandbox was given."""
    status = subprocess.run(
        [COMMAND, "sandbox", "status", "--dir", str(sandbox), "-o", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    url = next(word for word in status.stdout.replace('"', " ").split() if word.startswith("http://"))
    text = f'[repository]\nurl = "connectors"\n\n[clusters.local]\nurl = ["{url}"]\n'
    (work / "gitops-connect.toml").write_text(text)
    print(f"\n$ cat gitops-connect.toml\n{text}")


def commit_examples(work: Path, data: Path) -> Path:
    """A git repository with a copy of examples/repo in it, whose connectors read and write in `data`."""
    repository = work / "connectors"
    shutil.copytree(EXAMPLES, repository)
    for document in repository.rglob("*.yaml"):
        document.write_text(document.read_text().replace(DATA_OF_EXAMPLES, str(data)))
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", repository], check=True)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "Add the connectors")
    return repository


def git(repository: Path, *arguments: str) -> None:
    """Run git with a name and no configuration of the user's, and show what was typed."""
    print(f"\n$ git {' '.join(arguments)}", flush=True)
    identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "--no-pager", "-C", repository, *identity, *arguments], check=True)


def show(*arguments: str, cwd: Path) -> None:
    """Show the command and run it."""
    print(f"\n$ gitops-connect {' '.join(arguments)}", flush=True)
    # The downloaded Kafka is kept for the next time, and the clone of a repository that will be gone is not.
    cache = {} if arguments[0] == "sandbox" else {"GITOPS_CONNECT_CACHE": str(cwd / "cache")}
    subprocess.run([COMMAND, *arguments], cwd=cwd, check=True, env=os.environ | cache)


def title(text: str) -> None:
    """A heading between the acts."""
    print(f"\n{'=' * 100}\n{text}\n{'=' * 100}", flush=True)


def wait_for_lines(file: Path, count: int) -> str:
    """The file's text, once it has so many lines."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if file.exists() and len(file.read_text().splitlines()) >= count:
            return file.read_text()
        time.sleep(0.5)
    raise TimeoutError(f"{file} did not have {count} lines after 60 s")


if __name__ == "__main__":
    sys.exit(main())
