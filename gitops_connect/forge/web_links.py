"""Links to commits and lines on the forge, from the settings alone: no request is sent, and no link has a user name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import ForgeKind, Settings

_COMMIT_ID = re.compile("[0-9a-f]{40,64}")
"""A revision may be a directory without Git, and the history may have any text."""
_KNOWN = {"github.com": ForgeKind.GITHUB, "gitlab.com": ForgeKind.GITLAB, "codeberg.org": ForgeKind.GITEA}
"""The forges that are known by their host, so that a repository there needs no `[forge]`."""
_APIS = {ForgeKind.GITHUB: "/api/v3", ForgeKind.GITLAB: "/api/v4", ForgeKind.GITEA: "/api/v1"}
_COMMIT = {ForgeKind.GITHUB: "/commit/", ForgeKind.GITLAB: "/-/commit/", ForgeKind.GITEA: "/commit/"}
_FILE = {ForgeKind.GITHUB: "/blob/", ForgeKind.GITLAB: "/-/blob/", ForgeKind.GITEA: "/src/commit/"}


@dataclass(frozen=True, slots=True)
class WebLinks:
    """The repository on its forge: `page` is its URL; empty if it is unknown, and then all links are empty.

    `directory` is that of the documents in the repository.
    """

    kind: ForgeKind = ForgeKind.GITHUB
    page: str = ""
    directory: str = ""

    def place(self, location: Location) -> Location:
        """The place of a document from the root of the repository."""
        return location.under(self.directory)

    def commit(self, revision: Revision | None) -> str:
        known = self.page and revision is not None and _COMMIT_ID.fullmatch(revision)
        return f"{self.page}{_COMMIT[self.kind]}{revision}" if known else ""

    def line(self, location: Location | None, revision: Revision | None) -> str:
        """The line of a file at `place`."""
        if location is None or revision is None or not self.page or not _COMMIT_ID.fullmatch(revision):
            return ""
        path = quote(location.file, errors="replace")
        return f"{self.page}{_FILE[self.kind]}{revision}/{path}#L{location.line}"


def web_links(settings: Settings, directory: str) -> WebLinks:
    """The links of the repository in the settings; `directory` is that of its documents."""
    return replace(_page(settings), directory=directory)


def _page(settings: Settings) -> WebLinks:
    forge, found = settings.forge, _of_url(settings.repository.url)
    if forge.kind is None or not forge.repository:
        return found
    if forge.url is None:
        host = next((host for host, kind in _KNOWN.items() if kind is forge.kind), "")
        return WebLinks(forge.kind, f"https://{host}/{forge.repository}") if host else found
    api = urlsplit(forge.url)
    host = "github.com" if api.hostname == "api.github.com" else f"{api.hostname}{f':{api.port}' if api.port else ''}"
    root = api.path.rstrip("/").removesuffix(_APIS[forge.kind])
    return WebLinks(forge.kind, f"{api.scheme}://{host}{root}/{forge.repository}")


def _of_url(url: str) -> WebLinks:
    """The page of a repository on a known forge, from its URL of HTTPS or SSH, or in the form `git@host:owner/name`."""
    text = url if "://" in url else f"ssh://{url.replace(':', '/', 1)}"
    try:
        parts = urlsplit(text)
        kind = _KNOWN.get(parts.hostname or "")
    except ValueError:
        return WebLinks()
    path = parts.path.strip("/").removesuffix(".git")
    return WebLinks(kind, f"https://{parts.hostname}/{quote(path)}") if kind and path else WebLinks()
