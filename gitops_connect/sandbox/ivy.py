"""Runs the Ivy in the pyspark wheel, to fetch jars from Maven Central without Maven.

pyspark is not imported for this (that would take 0.5 s): only its directory is looked up.
"""

from __future__ import annotations

import hashlib
import importlib.util
import ssl
import struct
import subprocess
import threading
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.java import Java

Progress = Callable[[str, int | None, int | None], None]
"""Called with the current activity, and its progress as a number of a total; `gitops_connect.cli.progress` shows it."""

MIRROR_VARIABLE = "GITOPS_CONNECT_MAVEN_URL"
_NOT_TRUSTED = "PKIX"
_HEAP = "512m"
_LARGEST = 512 * 1024**2
"""Bytes of each file that Ivy writes. Kafka's largest jar has 10 MiB."""
_LINES = 10_000
"""Lines of Ivy's output that are kept."""
_MODULE = """<ivy-module version="2.0">
<info organisation="gitops-connect" module="sandbox"/>
<configurations><conf name="default"/></configurations>
<dependencies>{dependencies}</dependencies>
</ivy-module>
"""
_SETTINGS = """<ivysettings>
<settings defaultResolver="maven"/>
<resolvers><ibiblio name="maven" m2compatible="true"{root}/></resolvers>
</ivysettings>
"""
PASSWORD = "changeit"  # noqa: S105 - Java's own default; it protects only the file's integrity
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian and its derivatives
    "/etc/pki/tls/certs/ca-bundle.crt",  # Red Hat and its derivatives
    "/etc/ssl/cert.pem",  # macOS, Alpine, BSD
)
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The jars to fetch, their directory (`target`), the directory of Ivy's own files (`scratch`), and the tools.

    `lock` is a file descriptor that Ivy inherits: a lock on it is held until Ivy itself has ended. After `seconds`, Ivy
    is killed.
    """

    dependencies: tuple[tuple[str, str, str], ...]
    target: Path
    scratch: Path
    java: Java
    environment: Mapping[str, str]
    lock: int
    seconds: float = 1800
    """A slow network needs minutes for all jars."""


def module_file(dependencies: Iterable[tuple[str, str, str]]) -> str:
    """Ivy's request for these (group, artifact, version), with all their runtime dependencies."""
    lines = (
        f'<dependency org="{group}" name="{artifact}" rev="{version}" conf="default->default"/>'
        for group, artifact, version in dependencies
    )
    return _MODULE.format(dependencies="\n".join(lines))


def retrieve(retrieval: Retrieval, progress: Progress) -> None:
    """Fetch the jars into `target`. Raises SandboxFailed with Ivy's own reason.

    Java's own trust store is tried first, and the system's certificates if that fails.
    """
    output = _run(retrieval, (), progress)
    if output is not None and _NOT_TRUSTED in output:
        output = _run(retrieval, write_trust_store(retrieval.scratch / "trust.jks"), progress)
    if output is not None:
        log = retrieval.scratch / "ivy.log"
        log.write_text(output, encoding="utf-8")
        names = ", ".join(":".join(dependency) for dependency in retrieval.dependencies)
        raise SandboxFailed(
            f"cannot fetch {names} from Maven: {_reason(output)} (full output: {log}). Check the network "
            f"connection; use https_proxy for a proxy, or {MIRROR_VARIABLE} for a mirror of Maven Central"
        )


def _run(retrieval: Retrieval, trust: Iterable[str], progress: Progress) -> str | None:
    """None if it succeeded, else the whole output of Ivy."""
    command = _command(retrieval, trust)
    counted = _Count(progress)
    with subprocess.Popen(  # noqa: S603 - our own Java and arguments
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=dict(retrieval.environment),
        pass_fds=(retrieval.lock,),
    ) as process:
        timer = threading.Timer(retrieval.seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            lines = deque((line for line in process.stdout or () if counted.read(line)), _LINES)
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
    return None if process.returncode == 0 else "".join(lines)


def _command(retrieval: Retrieval, trust: Iterable[str]) -> list[str]:
    scratch = retrieval.scratch
    mirror = retrieval.environment.get(MIRROR_VARIABLE)
    (scratch / "ivy.xml").write_text(module_file(retrieval.dependencies), encoding="utf-8")
    root = f" root={quoteattr(mirror)}" if mirror else ""
    (scratch / "settings.xml").write_text(_SETTINGS.format(root=root), encoding="utf-8")
    java = [f"-Xmx{_HEAP}", "-XX:TieredStopAtLevel=1"]
    options = [*java, *_proxy_options(), *trust, f"-Divy.default.ivy.user.dir={scratch}"]
    where = ["-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")]
    pattern = str(retrieval.target / "[artifact]-[revision].[ext]")
    # Without `bundle`, scala-logging, snappy and the JAX-RS jars would be missing: their poms use that type for a jar.
    what = ["-cache", str(scratch / "cache"), "-types", "jar", "bundle", "-retrieve", pattern]
    # POSIX counts file sizes in blocks of 512 bytes.
    limited = ["sh", "-c", 'ulimit -f "$0"; exec "$@"', str(_LARGEST // 512)]
    return [*limited, str(retrieval.java.path), *options, "-jar", str(ivy_jar()), *where, *what]


def ivy_jar() -> Path:
    """The Ivy jar inside the pyspark wheel."""
    spark = importlib.util.find_spec("pyspark")
    directory = Path(spark.origin).parent / "jars" if spark is not None and spark.origin else Path()
    for jar in sorted(directory.glob("ivy-*.jar")):
        return jar
    raise SandboxFailed(f"the pyspark package ({directory}) does not contain the Ivy jar; install pyspark 4.1 or newer")


def _proxy_options() -> list[str]:
    """The system's proxies as Java options, without passwords: command lines can be read by all users."""
    options = []
    proxies = urllib.request.getproxies()
    for scheme in ("http", "https"):
        proxy = urllib.parse.urlsplit(proxies.get(scheme, ""))
        if proxy.hostname:
            options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
    if direct := [host.strip() for host in proxies.get("no", "").split(",") if host.strip()]:
        patterns = "|".join(f"*{host}" if host.startswith(".") else host for host in direct)
        options.append(f"-Dhttp.nonProxyHosts={patterns}")
    return options


class _Count:
    """Reads Ivy's output and reports the progress: first the jars that were found, then those that are downloaded."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._found = 0
        self._downloaded = 0

    def read(self, line: str) -> bool:
        """Count the line. Always returns True, so that it can be used in a comprehension."""
        words = line.split()
        if words[:1] == ["found"]:
            self._found += 1
            self._progress(f"{self._found} jars found", None, None)
        elif words[:2] == ["[SUCCESSFUL", "]"]:
            self._downloaded += 1
            self._progress("jars downloaded", self._downloaded, self._found)
        return True


def _reason(output: str) -> str:
    """The first error, else the first module that was not found, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for mark in ("Server access error", "Host", "module not found", "impossible"):
        for line in lines:
            if line.startswith(mark):
                return line
    return lines[-1] if lines else "Ivy reported no reason"


def write_trust_store(file: Path) -> tuple[str, ...]:
    """Write the certificates that Python trusts as a Java trust store. Returns Java's options for it, or none.

    A Java in a wheel does not know a CA that an organisation added to its machines, so a download through its proxy
    fails although pip and git succeed. The store is a JKS file, whose layout (`sun.security.provider.JavaKeyStore`) is
    simple enough to write without keytool, which a runtime may lack.
    """
    certificates = _system_certificates()
    if not certificates:
        return ()
    file.write_bytes(encode(certificates))
    return (
        f"-Djavax.net.ssl.trustStore={file}",
        "-Djavax.net.ssl.trustStoreType=JKS",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    )


def _system_certificates() -> list[bytes]:
    """The certificates in DER. OpenSSL's default honours SSL_CERT_FILE; a directory is not listed until it is used."""
    context = ssl.create_default_context()
    if not context.get_ca_certs():
        for bundle in filter(Path.exists, map(Path, _BUNDLES)):
            context.load_verify_locations(cafile=bundle)
    return context.get_ca_certs(binary_form=True)


def encode(certificates: list[bytes]) -> bytes:
    """A JKS key store of trusted certificates, numbered, without dates."""
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        body += struct.pack(">I", _TRUSTED) + _utf(str(number)) + struct.pack(">Q", 0)
        body += _utf("X.509") + struct.pack(">I", len(certificate)) + certificate
    seal = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(seal, usedforsecurity=False).digest()


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")
