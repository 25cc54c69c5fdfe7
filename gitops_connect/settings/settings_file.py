"""The settings file and the environment -> `Settings`.

Every setting can also be given by environment, which wins: `GITOPS_CONNECT_` and its path in capitals, with two
underscores between the parts, as in `GITOPS_CONNECT_REPOSITORY__URL` or `GITOPS_CONNECT_CLUSTERS__LOCAL__PRUNE`. A list
is written with commas. For a credential, the variable contains the value itself; with `__ENV` or `__FILE` appended, it
names the variable or file that contains the value.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from gitops_connect.errors import UsageError
from gitops_connect.model.names import ClusterName
from gitops_connect.safe_files import read_text
from gitops_connect.settings.coerce import section
from gitops_connect.settings.ledger_place import chosen_place
from gitops_connect.settings.sections import ClusterSettings, Settings, StrimziSettings, is_http_url

DEFAULT_FILE = "gitops-connect.toml"
PREFIX = "GITOPS_CONNECT_"
CONFIG_VARIABLE = "GITOPS_CONNECT_CONFIG"
_CLUSTER_NAME = re.compile(r"[\w.-]{1,253}")
"""The name is used for a directory of the repository, a row of the ledger and a label of metrics."""
_API_GROUP = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,10}")
_BRANCH_PREFIX = re.compile(r"/*(refs/+)?(heads/+)?", re.IGNORECASE)
_MINIMAL_REPOSITORY = """\
    [repository]
    url = "https://git.example.com/kafka-connect.git"
"""
_MINIMAL_CLUSTER = """\
    [clusters.local]
    url = ["http://127.0.0.1:8083"]"""
_SECTIONS: Mapping[str, Any] = {name: hint for name, hint in get_type_hints(Settings).items() if is_dataclass(hint)}
"""The class of each section, except `[clusters]`."""


def load_settings(file: Path | None, environment: Mapping[str, str]) -> Settings:
    """Read `file`, else `GITOPS_CONNECT_CONFIG`, else `gitops-connect.toml`; and the environment. Raises UsageError."""
    if file is None and CONFIG_VARIABLE in environment:
        file = Path(environment[CONFIG_VARIABLE])
    explicit = file is not None
    file = file or Path(DEFAULT_FILE)
    raw = _read(file) if explicit or file.exists() else {}
    _overlay(raw, environment)
    directory = file.absolute().parent
    for name in raw:
        if name not in (*_SECTIONS, "clusters"):
            raise UsageError(f"{file}: unknown section [{name}]; known sections: {', '.join((*_SECTIONS, 'clusters'))}")
    sections: dict[str, Any] = {
        name: section(cls, _table(raw.get(name, {}), name), f"{file}: [{name}]", directory)
        for name, cls in _SECTIONS.items()
    }
    clusters = {
        ClusterName(name): _cluster(name, table, file, directory)
        for name, table in _table(raw.get("clusters", {}), "clusters").items()
    }
    _require_workers_of_their_own(clusters, file)
    _require_one_cluster_each(clusters, file)
    _require_plain_prefixes(sections["strimzi"], file)
    _require_other_groups(sections["strimzi"].api_groups, file)
    _require_other_branch(sections["strimzi"].output_branch, sections["repository"].branch, file)
    public_url = sections["server"].public_url
    if public_url is not None and not is_http_url(public_url):
        raise UsageError(f"{file}: [server] public_url: expected an address such as https://gitops.example.com")
    chooses_ledger = "url" not in raw.get("state", {})
    if chooses_ledger and (place := chosen_place(directory)).parent != directory:
        sections["state"] = replace(sections["state"], url=f"sqlite:///{place}")
    own_file = file.absolute() if file.exists() else None
    return Settings(directory, own_file, chooses_ledger, clusters=clusters, **sections)


def require_some(settings: Settings) -> None:
    """Raise UsageError if there are no settings at all. The message names the files, and shows what to write."""
    if settings.file is None and not settings.clusters and not settings.repository.url:
        raise UsageError(
            f"no settings were found: {settings.directory / DEFAULT_FILE} does not exist, and neither --config nor the"
            f" environment variable {CONFIG_VARIABLE} names another file; create {DEFAULT_FILE}:\n\n"
            f"{_MINIMAL_REPOSITORY}\n{_MINIMAL_CLUSTER}"
        )


def require_clusters(settings: Settings) -> None:
    """Raise UsageError if the settings have no cluster. The message shows what to write."""
    require_some(settings)
    if not settings.clusters:
        where = settings.file or "the environment"
        raise UsageError(f"{where} does not configure a Connect cluster; add one:\n\n{_MINIMAL_CLUSTER}")


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(file))
    except FileNotFoundError as error:
        raise UsageError(f"the settings file {file} does not exist") from error
    except RecursionError as error:
        raise UsageError(f"cannot read the settings file {file}: the values are nested too deeply") from error
    except (OSError, ValueError) as error:  # ValueError: also an integer with more digits than Python reads
        raise UsageError(f"cannot read the settings file {file}: {error}") from error


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"[{name}]: expected a table, found {type(value).__name__}")
    return value


def _cluster(name: str, table: Any, file: Path, directory: Path) -> ClusterSettings:
    if not _CLUSTER_NAME.fullmatch(name):
        expected = "expected letters, digits, dots, dashes and underscores"
        raise UsageError(f"{file}: [clusters.{name!r}]: {expected}")
    where = f"{file}: [clusters.{name}]"
    table = _table(table, f"clusters.{name}")
    if not table.get("url"):
        raise UsageError(f'{where}: url is missing; add the URLs of the workers: url = ["http://…:8083"]')
    cluster = section(ClusterSettings, table, where, directory, name=ClusterName(name))
    if cluster.min_running >= cluster.settle_timeout:
        raise UsageError(
            f"{where} min_running: expected less than settle_timeout ({cluster.settle_timeout:g}s),"
            f" found {cluster.min_running:g}s"
        )
    return cluster


def _require_workers_of_their_own(clusters: Mapping[ClusterName, ClusterSettings], file: Path) -> None:
    """Reject a worker in two clusters: under two names it would have two leases, and two processes could change it."""
    names: dict[str, ClusterName] = {}
    for name, cluster in clusters.items():
        for url in {url.rstrip("/") for url in cluster.url}:
            if (other := names.setdefault(url, name)) != name:
                raise UsageError(f"{file}: [clusters.{other}] and [clusters.{name}] both list the worker {url}")


def _require_one_cluster_each(clusters: Mapping[ClusterName, ClusterSettings], file: Path) -> None:
    """Reject a Connect cluster of Strimzi that means two clusters: each connector would be in both."""
    names: dict[str, ClusterName] = {name: name for name in clusters}
    for name, cluster in clusters.items():
        for strimzi in cluster.strimzi:
            if (other := names.setdefault(strimzi, name)) != name:
                raise UsageError(f"{file}: [clusters.{name}] strimzi: {strimzi!r} already means [clusters.{other}]")


def _require_plain_prefixes(settings: StrimziSettings, file: Path) -> None:
    """Reject a beginning of a placeholder that no placeholder can have."""
    for prefix, replacement in settings.placeholders.items():
        for text in (prefix, replacement):
            if not text or any(character in text for character in "${}"):
                where = f"{file}: [strimzi] placeholders.{prefix}"
                raise UsageError(f"{where}: expected the text after `${{`, such as strimzienv:, found {text!r}")


def _require_other_groups(groups: Sequence[str], file: Path) -> None:
    """Reject an API group that is no domain, such as that of this project."""
    for group in groups:
        if not _API_GROUP.fullmatch(group):
            where = f"{file}: [strimzi] api_groups"
            raise UsageError(f"{where}: expected an API group such as eventstreams.ibm.com, found {group!r}")


def _require_other_branch(output: str, followed: str, file: Path) -> None:
    """Reject a branch for ConfigMaps that a Git server could take for the branch that is followed."""
    where = f"{file}: [strimzi] output_branch"
    if output.upper() in ("HEAD", "@") or _BRANCH_PREFIX.sub("", output, 1) != output:
        raise UsageError(f"{where}: expected the short name of a branch, such as 'offsets', found {output!r}")
    if output and _branch_key(output) == _branch_key(_BRANCH_PREFIX.sub("", followed, 1)):
        raise UsageError(f"{where}: {output!r} is the branch that gitops-connect follows; set another branch")


def _branch_key(branch: str) -> str:
    """The same for names that are the same on a disk which ignores case and Unicode's normal forms."""
    return unicodedata.normalize("NFKC", branch).casefold().strip("/ ")


def _overlay(raw: dict[str, Any], environment: Mapping[str, str]) -> None:
    """Set the values of `GITOPS_CONNECT_A__B=value` in the tables, in place."""
    for variable, value in sorted(environment.items()):
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        *parents, last = variable.removeprefix(PREFIX).lower().split("__")
        table = raw
        for parent in parents:
            below = table.get(parent)
            table[parent] = table = below if isinstance(below, dict) else {}
        table[last] = value
