"""Writes files to a branch of the repository: one commit for each file, pushed without force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gitops_connect.errors import SourceUnavailable
from gitops_connect.model.names import Revision
from gitops_connect.safe_files import users_umask
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.clone import Clone, read_blobs
from gitops_connect.source.git_program import GitFailed, Program
from gitops_connect.source.repository import Repository

_IDENTITY = {
    **{f"GIT_{role}_NAME": "gitops-connect" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "gitops-connect@localhost" for role in ("AUTHOR", "COMMITTER")},
}
_REJECTED = ("[rejected]", "non-fast-forward", "fetch first", "cannot lock ref")


class OutputBranch(Repository):
    """One branch of the repository, in a clone of its own: only its last commit, with its files."""

    def __init__(self, settings: RepositorySettings, directory: Path, branch: str) -> None:
        """`directory` is that of the clone of the target branch. Raises UsageError if a setting is invalid."""
        own = replace(settings, branch=branch, tag=None, commit=None)
        super().__init__(own, directory.with_name(f"{directory.name}.output"))

    def write(self, path: str, update: Callable[[bytes | None], bytes], message: str) -> str:
        """Replace one file by what `update` makes of it; None is no file. Returns the branch and the path.

        Other files are kept, and a branch that does not exist is created. Without a change, nothing is pushed. Raises
        SourceUnavailable if a retry may help, as when someone else pushes at the same time, SourceRefused, and what
        `update` raises.
        """
        self._check_path()
        with self._locked() as held:
            try:
                self._write(self._clone(held), path, update, message)
            except GitFailed as failure:
                raise self._failed(failure) from failure
        return f"{self._target.name}:{path}"

    def _failed(self, failure: GitFailed) -> Exception:
        if any(one in failure.stderr for one in _REJECTED):
            what = f"{self._where}: {self._target} was changed while gitops-connect committed to it"
            return SourceUnavailable(f"{what}: the next reconciliation writes again")
        return self._explain(failure)

    def _write(self, clone: Clone, path: str, update: Callable[[bytes | None], bytes], message: str) -> None:
        if not clone.is_usable:
            clone.create(filtered=False)
        clone.clear_leftovers()
        remote = self._remote(clone)
        parent = None if remote.find(self._target) is None else remote.fetch(self._target, None)[0]
        blob_id = clone.blob_id(parent, path) if parent is not None else None
        before = next(read_blobs(clone.program, [blob_id])) if blob_id is not None else None
        content = update(before)
        if content == before:
            return
        commit = _commit(clone.program, parent, (path, content), message)
        program = replace(remote.program, umask=users_umask())  # it writes to the repository if that is a local one
        program.run("push", "--quiet", "origin", f"{commit}:{self._target.wanted}")


def _commit(program: Program, parent: Revision | None, file: tuple[str, bytes], message: str) -> str:
    """A commit on top of `parent`, in which one file is replaced; made in an index of its own, without a work tree."""
    path, content = file
    index = f"{program.environment['GIT_DIR']}/gitops-connect-index"
    program = replace(program, environment={**program.environment, **_IDENTITY, "GIT_INDEX_FILE": index})
    program.run("read-tree", parent or "--empty")
    blob_id = program.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
    program.run("update-index", "--add", "--cacheinfo", f"100644,{blob_id},{path}")
    tree = program.run("write-tree").decode().strip()
    parents = ["-p", parent] if parent is not None else []
    return program.run("commit-tree", tree, *parents, stdin=f"{message}\n".encode()).decode().strip()
