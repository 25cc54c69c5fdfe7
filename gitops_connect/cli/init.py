"""`gitops-connect init`: the files of a new repository, and on request the connectors of a cluster."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from gitops_connect import __version__, cli
from gitops_connect.checks.document_schemas import read_schema
from gitops_connect.cli.cluster_commands import plan_clusters
from gitops_connect.cli.clusters import worst
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.import_connectors import ended, import_cluster
from gitops_connect.cli.options import argument, is_untrusted, option
from gitops_connect.cli.plan import show_problems
from gitops_connect.cli.progress import progress
from gitops_connect.errors import UsageError
from gitops_connect.exchange.declarations import TargetFormat
from gitops_connect.exchange.document_text import needed_secrets
from gitops_connect.exchange.written_files import SCHEMA_FILE, OutputFiles, schema_line
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName
from gitops_connect.model.plans import Action
from gitops_connect.offset_changes.offset_files import temporary_directory
from gitops_connect.offset_changes.subject import clients_of
from gitops_connect.report.words import plural
from gitops_connect.runtime import ledger_note, open_runtime
from gitops_connect.safe_files import new_directory, write_new
from gitops_connect.settings.ledger_place import work_tree
from gitops_connect.settings.sections import ForgeKind, Settings, is_http_url
from gitops_connect.settings.settings_file import DEFAULT_FILE, load_settings
from gitops_connect.source.git_url import GitUrl
from gitops_connect.source.ignored_files import are_exposed, ignore
from gitops_connect.source.origin import origin_of

_LOCAL = ("localhost", "127.0.0.1", "::1")
_URL = "http://localhost:8083"
_PACKAGE = f"gitops-connect @ git+https://HOST/OWNER/gitops-connect@v{__version__}"
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*", re.ASCII)
_HOSTS = {"codeberg": ForgeKind.GITEA, "forgejo": ForgeKind.GITEA, **{one.value: one for one in ForgeKind}}
"""Words in the host of a remote repository, and the forge that they mean."""
_WORKFLOWS = {
    ForgeKind.GITHUB: ("github", ".github/workflows/connectors.yml"),
    ForgeKind.GITEA: ("github", ".gitea/workflows/connectors.yml"),
    ForgeKind.GITLAB: ("gitlab", ".gitlab-ci.yml"),
}


def init(
    directory: Annotated[Path | None, argument("DIR", "The directory of the repository. [default: this one]")] = None,
    from_cluster: Annotated[
        str | None, option("--from-cluster", "URL", "Import the connectors of the cluster with this worker.")
    ] = None,
    cluster: Annotated[
        str | None, option("--cluster", "NAME", "The cluster's name. [default: local, or prod for other hosts]")
    ] = None,
    forge: Annotated[
        ForgeKind | None,
        typer.Option("--forge", help="Write a CI workflow for this forge. [default: that of the remote `origin`]"),
    ] = None,
    package: Annotated[
        str,
        typer.Option(
            "--package",
            metavar="SPEC",
            help="What pip installs in the CI workflow. [default: this version, whose place you fill in]",
            show_default=False,
        ),
    ] = _PACKAGE,
) -> int:
    """Create the files of a new repository.

    They are settings with comments, a directory for documents, a CI workflow and a README. No file is overwritten, and
    nothing is asked. With --from-cluster, the connectors of the cluster are imported, and their plan is checked: it
    changes nothing on the cluster.
    """
    new = _NewRepository.of(directory or Path(), from_cluster or _URL, cluster, forge, package)
    settings_file = new.root / DEFAULT_FILE
    if from_cluster is not None:
        _require_worker(new, settings_file)
    new_directory(new.root, force=True)
    created = new.write(with_example=from_cluster is None and not new.has_other_documents)
    if new.is_in_git and are_exposed([settings_file], new.top):
        echo(f"note: {ignore(settings_file)} lets Git ignore the settings now")
    code = ExitCode.DONE
    if from_cluster is not None:
        code = _import(new, settings_file)
    if any(path == new.workflow for path in created) and package == _PACKAGE:
        echo(f"note: set HOST and OWNER in {new.workflow}, so that CI can install gitops-connect")
    where = "" if new.root.resolve() == Path.cwd() else f" -C {shlex.quote(str(new.root))}"
    echo(f"Next: gitops-connect{where} plan")
    return code


def _host(url: str) -> str:
    """The host of a URL, or of an address such as `git@host:path`."""
    return urlsplit(url if "://" in url else f"ssh://{url.replace(':', '/', 1)}").hostname or ""


@dataclass(frozen=True, slots=True)
class _NewRepository:
    """The files of a repository. `top` is the Git work tree, `workflow` the file of the CI workflow in it, or None."""

    root: Path
    top: Path
    cluster: ClusterName
    url: str
    origin: GitUrl | None
    forge: ForgeKind | None
    package: str
    is_in_git: bool

    @staticmethod
    def of(root: Path, url: str, cluster: str | None, forge: ForgeKind | None, package: str) -> _NewRepository:
        """Raises UsageError for a URL or a name that no settings can have."""
        if not is_http_url(url) or urlsplit(url).username is not None:
            example = f"{_URL}; a user name and a password belong in the settings"
            raise UsageError(f"--from-cluster: expected the URL of a worker such as {example}")
        usual = "local" if urlsplit(url).hostname in _LOCAL else "prod"
        name = usual if cluster is None else cluster
        if not _NAME.fullmatch(name):
            raise UsageError("--cluster: expected letters, digits, dots, dashes and underscores")
        tree = work_tree(root)
        origin = origin_of(tree) if tree is not None else None
        is_top = tree is None or tree == root.resolve()
        if forge is None and is_top and origin is not None:
            forge = next((kind for word, kind in _HOSTS.items() if word in _host(origin.url)), None)
        top = root if tree is None or is_top else tree
        return _NewRepository(root, top, ClusterName(name), url, origin, forge, package, tree is not None)

    @property
    def has_other_documents(self) -> bool:
        return os.path.lexists(self.root / "clusters") and not os.path.lexists(self._example)

    @property
    def workflow(self) -> Path | None:
        return self.top / _WORKFLOWS[self.forge][1] if self.forge is not None else None

    @property
    def settings_text(self) -> str:
        return self._filled("settings")

    def write(self, *, with_example: bool) -> list[Path]:
        """Write the files that do not exist, and say so. Returns them."""
        contents = dict(self._contents(with_example=with_example))
        new = [path for path in contents if not os.path.lexists(path)]
        for path in new:
            write_new(path, contents[path], force=False, root=self.top if path == self.workflow else self.root)
        emit("".join(f"{'created' if path in new else 'exists already'}: {path}\n" for path in contents))
        return new

    def _contents(self, *, with_example: bool) -> Iterator[tuple[Path, str]]:
        """Each file with its content."""
        yield self.root / DEFAULT_FILE, self.settings_text
        yield self.root / ".gitignore", self._filled("gitignore")
        yield self.root / "README.md", self._filled("readme")
        yield self.root / SCHEMA_FILE, _schema()
        if with_example:
            yield self._example, self._filled("example")
        if self.forge is not None and self.workflow is not None:
            yield self.workflow, self._filled(_WORKFLOWS[self.forge][0])

    @property
    def _example(self) -> Path:
        return self.root / "clusters" / self.cluster / "example.yaml"

    def _filled(self, template: str) -> str:
        text: str = tomllib.loads(files(cli).joinpath("new_repository.toml").read_text(encoding="utf-8"))[template]
        directory = self.root.resolve().relative_to(self.top.resolve()).as_posix()
        if not directory.isprintable():
            raise UsageError(f"expected a directory with a printable name, found {directory!r}")
        remote = "https://git.example.com/platform/connectors.git" if self.origin is None else self.origin.url
        values = {
            "CLUSTER": self.cluster,
            "TABLE": self.cluster if "." not in self.cluster else json.dumps(self.cluster),
            "URL": json.dumps(self.url),
            "REMOTE": json.dumps(remote),
            "PATH": json.dumps(directory),
            "DIRECTORY": shlex.quote(directory),
            "PACKAGE": json.dumps(self.package),
            "SCHEMA_LINE": schema_line(self.root, self._example).rstrip("\n"),
        }
        return re.sub("@([A-Z_]+)@", lambda found: values[found[1]], text)


def _schema() -> str:
    """One schema for both kinds of documents: editors choose it by the file."""
    is_change = {"properties": {"kind": {"const": "OffsetChange"}}, "required": ["kind"]}
    one = {"if": is_change, "then": read_schema("offset-change"), "else": read_schema("connector")}
    return f"{json.dumps(one, indent=1)}\n"


def _require_worker(new: _NewRepository, settings_file: Path) -> None:
    """Before any file is written, raise UsageError if there are settings, or the error if no worker answers."""
    if settings_file.exists():
        command = f"gitops-connect import --out {shlex.quote(str(new.root))}"
        raise UsageError(f"{settings_file} exists; to import connectors, run: {command}")
    with temporary_directory(None) as room:
        file = room / DEFAULT_FILE
        write_new(file, new.settings_text, force=False, root=room)
        with (
            progress("Checking", f"asking the worker {new.url}"),
            clients_of(load_settings(file, os.environ), (new.cluster,)) as clients,
        ):
            clients[new.cluster].info()


def _import(new: _NewRepository, settings_file: Path) -> ExitCode:
    """Import the connectors, allow the variables of their secrets in the new settings, and check the plan."""
    settings, target = load_settings(settings_file, os.environ), TargetFormat.GITOPS_CONNECT
    written, problems = import_cluster(settings, new.cluster, OutputFiles(new.root, target, force=False))
    if needed := needed_secrets([one.document for one in written], target):
        before, _, after = new.settings_text.partition("[secrets]\n")
        rest = after.partition("\n")[2]
        write_new(settings_file, f"{before}{needed}{rest}", force=True, root=new.root)
        settings = load_settings(settings_file, os.environ)
        echo(f"{settings_file} allows these variables.")
    if not written:
        new.write(with_example=True)
    return ended(problems) or _verify(settings, new)


def _verify(settings: Settings, new: _NewRepository) -> ExitCode:
    """Check that the plan changes nothing on the cluster: it only adopts the connectors."""
    if note := ledger_note(settings):
        echo(note)
    with closing(open_runtime(settings)) as runtime:
        planned = plan_clusters(runtime, new.root, (new.cluster,), untrusted=is_untrusted(None))
    if planned.failures:
        return worst(planned.failures)
    steps = [step for plan in planned.plans for step in plan.steps]
    changes = [step for step in steps if step.action is not Action.ADOPT]
    missing = [one for one in planned.diagnostics.errors if one.rule == "secret/missing"]
    others = [one for one in planned.diagnostics.errors if one.rule != "secret/missing"]
    if others or changes:
        show_problems(Diagnostics.of(others))
        echo(f"error: the plan is not empty: {plural(len(changes), 'change')}, {plural(len(others), 'error')}")
        return ExitCode.FAILED
    echo(f"Checked: the plan changes nothing on {new.cluster}, it adopts {plural(len(steps), 'connector')}.")
    if missing:
        echo(f"note: not checked without their secrets: {plural(len(missing), 'value')}; set the variables above first")
    return ExitCode.DONE
