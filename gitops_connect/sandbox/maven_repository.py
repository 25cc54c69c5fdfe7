"""Downloads files of a Maven repository, which is not trusted: their time, size and number are limited.

Each file must have the SHA-1 that the repository publishes next to it. A file that is complete is kept, so an
interrupted download continues.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urljoin

import requests

from gitops_connect.bounded_http import Deadline, UnredirectedSession, received, system_reason, tls_reason
from gitops_connect.errors import SandboxFailed

MIRROR_VARIABLE = "GITOPS_CONNECT_MAVEN_URL"
CENTRAL = "https://repo1.maven.org/maven2"
PARALLEL = 8
"""Files that are downloaded at once."""
LARGEST_TEXT = 4 * 1024**2
"""Bytes of a POM. Those that list hundreds of artifacts have 100 KiB."""
LARGEST_JAR = 512 * 1024**2
"""Bytes of a jar. Kafka's largest jar has 10 MiB."""
MOST_FILES = 5000
_MOST_BYTES = 4 * 1024**3
_MOST_SECONDS = 1800.0
"""For all files together: a slow network needs minutes."""
_SECONDS = 30.0
"""For one file, and longer for a large one."""
_MOST_REDIRECTS = 5
_SHA1 = re.compile(rb"(?<!\w)[0-9a-f]{40}(?!\w)", re.IGNORECASE)
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian and its derivatives
    "/etc/pki/tls/certs/ca-bundle.crt",  # Red Hat and its derivatives
    "/etc/ssl/cert.pem",  # macOS, Alpine, BSD
)


class FileMissing(Exception):
    """The repository does not have the file."""


class MavenRepository:
    """Several threads may use it. Files are stored in `directory` under their paths in the repository."""

    def __init__(self, directory: Path, environment: Mapping[str, str], seconds: float = _MOST_SECONDS) -> None:
        url = environment.get(MIRROR_VARIABLE)
        self.name = re.sub("//.*@", "//", url) if url else "Maven Central"
        self._url = f"{(url or CENTRAL).rstrip('/')}/"
        self._directory = directory
        self._session = UnredirectedSession(connections=PARALLEL)
        self._session.verify = _certificates(environment)
        self._until = time.monotonic() + seconds
        self._files = self._bytes = 0
        self._is_closed = False

    def close(self) -> None:
        """Running downloads end with their next bytes, and no other one begins."""
        self._is_closed = True
        self._session.close()

    def file(self, path: str, limit: int) -> Path:
        """The file, which is downloaded if it is not there. Raises FileMissing and SandboxFailed."""
        target = self._directory / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f".{threading.get_ident()}")
            with partial.open("wb") as file:
                found = self._receive(path, limit, file)
            published = BytesIO()
            try:
                self._receive(f"{path}.sha1", LARGEST_TEXT, published)
            except FileMissing:
                raise SandboxFailed(f"{self.name} does not have the checksum {path}.sha1") from None
            sha1 = _SHA1.search(published.getvalue())
            if sha1 is None or sha1[0].decode().lower() != found:
                raise SandboxFailed(f"{self.name}: {path} is damaged: its SHA-1 is {found}, not that of {path}.sha1")
            partial.rename(target)
        return target

    def _receive(self, path: str, limit: int, file: BinaryIO) -> str:
        """Download the file. Returns its SHA-1. Raises FileMissing and SandboxFailed."""
        with self._named_errors(path):
            url = urljoin(self._url, path)
            for _ in range(_MOST_REDIRECTS):
                self._files += 1
                left = self._until - time.monotonic()
                self._require(left > 0 and self._files <= 2 * MOST_FILES, "too many files, or for too long")
                with Deadline(_SECONDS, left) as deadline, self._get(url) as response:
                    if not response.is_redirect:
                        return self._write(received(response, deadline), limit, file)
                    url = urljoin(url, response.headers["Location"])
            raise requests.TooManyRedirects

    def _get(self, url: str) -> requests.Response:
        response = self._session.get(url, stream=True, timeout=_SECONDS)
        if not response.ok:
            response.close()
            raise FileMissing if response.status_code in (404, 410) else requests.HTTPError(response=response)
        return response

    def _write(self, content: Iterator[bytes], limit: int, file: BinaryIO) -> str:
        digest, size = hashlib.sha1(usedforsecurity=False), 0
        for piece in content:
            size += len(piece)
            self._bytes += len(piece)
            self._require(size <= limit and self._bytes <= _MOST_BYTES, "too many bytes")
            digest.update(piece)
            file.write(piece)
        return digest.hexdigest()

    def _require(self, condition: bool, what: str) -> None:  # noqa: FBT001 - as in an assertion
        if self._is_closed or not condition:
            raise SandboxFailed(f"the download from {self.name} was stopped: it sends {what}")

    @contextmanager
    def _named_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except (requests.RequestException, ValueError) as error:  # ValueError: an address that is none
            raise SandboxFailed(
                f"cannot download {path} from {self.name}: {_reason(error)}. Check the network connection; use "
                f"https_proxy for a proxy, or {MIRROR_VARIABLE} for a mirror of Maven Central"
            ) from error


def _reason(error: Exception) -> str:
    """A short explanation, because the messages of `requests` contain representations of Python objects."""
    if isinstance(error, requests.HTTPError):
        return f"HTTP {error.response.status_code}"
    if isinstance(error, requests.TooManyRedirects):
        return "it redirects without an end"
    if isinstance(error, requests.exceptions.SSLError):
        return f"the TLS handshake failed: {tls_reason(error)}"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy cannot be used"
    if isinstance(error, requests.Timeout):
        return "it did not answer in time"
    return system_reason(error) or "it closed the connection, or sent no valid HTTP"


def _certificates(environment: Mapping[str, str]) -> str | bool:
    """What the system trusts: a CA that an organisation added to its machines is not in Python's own list."""
    chosen = environment.get("REQUESTS_CA_BUNDLE") or environment.get("SSL_CERT_FILE")
    return chosen or next(filter(lambda bundle: Path(bundle).exists(), _BUNDLES), True)
