"""`make demo`: starts a real Kafka and Connect on this machine, then plans, applies and changes an example repository.

All files are in a temporary directory, which is removed at the end. Only the downloaded Kafka is kept.
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
DATA_OF_EXAMPLES = "/tmp/gitops-connect-demo"  # noqa: S108 - the directory in the documents of the example
COMMAND = Path(sys.executable).with_name("gitops-connect")
ORDERS = "order 1: two books\norder 2: a lamp\norder 3: nine screws\n"
OFFSET_CHANGE = Path(__file__).resolve().parent / "changes" / "orders-again.yaml"
ORDERS_DOCUMENT = "clusters/local/orders.yaml"


def main() -> int:
    """Run the demo. The sandbox is stopped in any case."""
    with tempfile.TemporaryDirectory(prefix="gitops-connect-demo-") as directory:
        work = Path(directory)
        sandbox = work / "sandbox"
        try:
            demo(work, sandbox)
        except (subprocess.CalledProcessError, TimeoutError) as error:
            print(f"\nthe demo failed: {error}", file=sys.stderr)
            return 1
        finally:
            title("Stop Kafka and Connect, and remove the data")
            run("sandbox", "down", "--dir", str(sandbox), "--purge", cwd=work)
    return 0


def demo(work: Path, sandbox: Path) -> None:
    """All steps."""
    data = work / "data"
    data.mkdir()
    (data / "orders.txt").write_text(ORDERS)
    repository = start(work, sandbox, data)
    create_connectors(work, data)
    change_config(work, repository)
    change_offsets(work, data, repository)


def start(work: Path, sandbox: Path, data: Path) -> Path:
    """Start the sandbox, and create the settings and the repository."""
    title("Start a real one-node Kafka with Connect. The first start downloads Kafka.")
    run("sandbox", "up", "--dir", str(sandbox), cwd=work)
    title("Write the settings: the repository, and the address of the Connect cluster `local`")
    settings(work, sandbox)
    title("Create a Git repository that declares four connectors (a copy of examples/repo)")
    return commit_examples(work, data)


def create_connectors(work: Path, data: Path) -> None:
    """Validate, plan and apply."""
    title("Validate the documents, and plan. Neither command changes the cluster.")
    run("validate", cwd=work)
    run("plan", cwd=work)
    title("Apply the plan. Each step succeeds only once the change is observed on the cluster.")
    run("apply", "--yes", cwd=work)
    run("status", cwd=work)
    title("Result: the connectors copied each line of orders.txt through a Kafka topic to orders-copy.txt")
    print(wait_for_lines(data / "orders-copy.txt", len(ORDERS.splitlines())))


def change_config(work: Path, repository: Path) -> None:
    """Change one config key in Git, and apply a saved plan."""
    title("Change a config in Git, and save the plan for review")
    document = repository / ORDERS_DOCUMENT
    document.write_text(document.read_text().replace("batch.size: 100", "batch.size: 500"))
    git(repository, "diff", "--unified=1")
    git(repository, "commit", "--quiet", "--all", "--message", "orders: read larger batches")
    run("plan", "--out", "plan.json", cwd=work)
    title("Apply the saved plan: exactly the steps that were reviewed")
    run("apply", "plan.json", cwd=work)
    title("Plan again: the cluster is in sync, so the exit code is 0")
    run("plan", "--detailed-exitcode", cwd=work)


def change_offsets(work: Path, data: Path, repository: Path) -> None:
    """Rewind the source once."""
    title("Declare an offset change in Git: the source reads the last two orders again")
    run("offsets", "get", "orders-source", cwd=work)
    change = repository / OFFSET_CHANGE.name
    change.write_text(OFFSET_CHANGE.read_text().replace(DATA_OF_EXAMPLES, str(data)))
    print(f"\n$ cat {change.name}\n{change.read_text()}")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "orders: read the last two again")
    title("Plan and apply the offset change: stop the connector, change its offsets, resume it")
    run("plan", cwd=work)
    run("apply", "--yes", cwd=work)
    title("Result: orders 2 and 3 are in orders-copy.txt twice")
    print(wait_for_lines(data / "orders-copy.txt", len(ORDERS.splitlines()) + 2))
    title("Plan again: the offset change was applied, and is not applied a second time")
    run("plan", "--detailed-exitcode", cwd=work)
    run("offsets", "history", "orders-source", cwd=work)
    title("Undo: print an offset change that restores the earlier offsets. To apply it, commit it.")
    run("offsets", "undo", "2026-11-21-orders-again", cwd=work)


def settings(work: Path, sandbox: Path) -> None:
    """Write `gitops-connect.toml` with the address of the sandbox."""
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
    """Create a Git repository with a copy of examples/repo. Its connectors read and write files in `data`."""
    repository = work / "connectors"
    shutil.copytree(EXAMPLES, repository)
    for document in repository.rglob("*.yaml"):
        document.write_text(document.read_text().replace(DATA_OF_EXAMPLES, str(data)))
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", repository], check=True)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "Add the connectors")
    return repository


def git(repository: Path, *arguments: str) -> None:
    """Print a Git command and run it, with the name of the demo as its author."""
    print(f"\n$ git {' '.join(arguments)}", flush=True)
    identity = ["-c", "user.name=Demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "--no-pager", "-C", repository, *identity, *arguments], check=True)


def run(*arguments: str, cwd: Path) -> None:
    """Print a command of gitops-connect and run it."""
    print(f"\n$ gitops-connect {' '.join(arguments)}", flush=True)
    # Keep the downloaded Kafka for the next demo, but not the clone of a repository that will be removed.
    cache = {} if arguments[0] == "sandbox" else {"GITOPS_CONNECT_CACHE": str(cwd / "cache")}
    subprocess.run([COMMAND, *arguments], cwd=cwd, check=True, env=os.environ | cache)


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{'=' * 100}\n{text}\n{'=' * 100}", flush=True)


def wait_for_lines(file: Path, count: int) -> str:
    """Wait until the file has `count` lines, and return its text."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if file.exists() and len(file.read_text().splitlines()) >= count:
            return file.read_text()
        time.sleep(0.5)
    raise TimeoutError(f"{file} did not have {count} lines after 60 s")


if __name__ == "__main__":
    sys.exit(main())
