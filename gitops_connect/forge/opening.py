"""From the settings to the client of the forge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from gitops_connect import DISTRIBUTION
from gitops_connect.errors import UsageError
from gitops_connect.forge.forge import Forge
from gitops_connect.forge.forge_api import read_token
from gitops_connect.forge.gitea import GiteaForge
from gitops_connect.forge.github import GithubForge
from gitops_connect.forge.gitlab import GitlabForge
from gitops_connect.model.clock import Clock
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind, ForgeSettings, Settings, is_http_url

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_PROJECT = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
_FORGES: Mapping[ForgeKind, Callable[[ForgeSettings, str, Credential, str, Clock], Forge]] = {
    ForgeKind.GITHUB: GithubForge,
    ForgeKind.GITLAB: GitlabForge,
    ForgeKind.GITEA: GiteaForge,
}
_DEFAULT_URLS = {ForgeKind.GITHUB: "https://api.github.com", ForgeKind.GITLAB: "https://gitlab.com"}


def open_forge(settings: Settings, clock: Clock) -> Forge | None:
    """The forge of `[forge]`, None if there is none. Raises UsageError if a setting is missing. Sends no request."""
    forge = settings.forge
    if forge.kind is None:
        if forge != ForgeSettings():
            kinds = ", ".join(kind.value for kind in ForgeKind)
            raise UsageError(f"[forge] kind is missing: expected one of {kinds}")
        return None
    repository = settings.repository
    if repository.tag is not None or repository.commit is not None:
        raise UsageError(
            "[forge] needs [repository] branch: pull requests are merged to a branch, not to a tag or commit"
        )
    is_project = forge.kind is ForgeKind.GITLAB
    if not (_PROJECT if is_project else _REPOSITORY).fullmatch(forge.repository):
        expected = "the path of a project, as in group/name" if is_project else "owner/name"
        raise UsageError(f"[forge] repository: expected {expected}, found {forge.repository!r}")
    url, credential = _url(forge, forge.kind), _credential(forge, forge.kind)
    try:
        return _FORGES[forge.kind](forge, url, credential, repository.branch, clock)
    except ImportError as error:
        raise UsageError(
            f"[forge] app_id: the package {error.name} is not installed; install the extra `github`:"
            f" pip install '{DISTRIBUTION}[github]'"
        ) from error


def _url(forge: ForgeSettings, kind: ForgeKind) -> str:
    url = forge.url or _DEFAULT_URLS.get(kind)
    if url is None:
        raise UsageError(
            "[forge] url is missing: expected the URL of the API, such as https://gitea.example.com/api/v1"
        )
    parts = urlsplit(url if is_http_url(url) else "")
    if not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError("[forge] url: expected https://HOST/PATH without a user name, a query or a fragment")
    return url.rstrip("/")


def _credential(forge: ForgeSettings, kind: ForgeKind) -> Credential:
    """The token, or the private key of the app. It is read once, so that a missing variable is found at the start."""
    app = {"app_id": forge.app_id, "installation_id": forge.installation_id, "private_key": forge.private_key}
    missing = [name for name, value in app.items() if value is None]
    if forge.token is not None:
        if len(missing) < len(app):
            raise UsageError("[forge] token and the settings of a GitHub app cannot be combined; keep one of them")
        read_token(forge.token)
        return forge.token
    if forge.private_key is None or missing or kind is not ForgeKind.GITHUB:
        is_app = kind is ForgeKind.GITHUB and len(missing) < len(app)
        name = missing[0] if is_app else "token"
        raise UsageError(f"[forge] {name} is missing; docs/reference/forges.md says which permissions are necessary")
    forge.private_key.read()
    return forge.private_key
