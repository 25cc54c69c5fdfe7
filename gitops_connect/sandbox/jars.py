"""The jars of a release of Kafka, and the plugins of the sandbox: fetched once, then used offline.

The Ivy in the pyspark wheel fetches them from Maven Central. pyspark is not imported for this (that would take 0.5 s):
only its directory is looked up. A directory is created under another name and renamed when it is complete, so a killed
download leaves no partial directory. Jars that Ivy has downloaded are kept, and the next try continues with them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import ssl
import struct
import subprocess
import threading
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

import platformdirs

from gitops_connect.errors import SandboxFailed
from gitops_connect.safe_files import locked_file
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
CACHE_VARIABLE = "GITOPS_CONNECT_CACHE"
BROKER_RELEASE = "4.3.1"
"""The broker's release, for every release of Connect.

A worker of any release since 2.1 works with a 4.x broker (KIP-896). So an older Connect is tested with the one broker
whose settings and start are tested here; and an old broker would not run on the newest Java.
"""
DEFAULT_RELEASE = BROKER_RELEASE
_MODULES = ("kafka_2.13", "connect-runtime", "connect-file", "connect-mirror")
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_MAVEN = "maven:"
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def cache_directory(environment: Mapping[str, str]) -> Path:
    """The directory of the jars: `GITOPS_CONNECT_CACHE`, else the user's cache directory."""
    chosen = environment.get(CACHE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("gitops-connect"))


@dataclass(frozen=True, slots=True)
class JarSet:
    """Modules, each as (group, artifact, version), with all their dependencies; stored together under a name."""

    name: str
    modules: tuple[tuple[str, str, str], ...]


def jar_directory(cache: Path, wanted: JarSet) -> Path:
    """The directory of these jars, which may not exist yet. Its name has a hash of the modules: it is never stale."""
    request = hashlib.sha256(module_file(wanted.modules).encode()).hexdigest()
    return cache / f"{wanted.name}-{request[:8]}"


def fetch_jars(wanted: JarSet, java: Java, environment: Mapping[str, str], progress: Progress) -> Path:
    """The directory of these jars, fetched from Maven Central if it is missing. Raises SandboxFailed."""
    cache = cache_directory(environment)
    directory = jar_directory(cache, wanted)
    if ":" in str(directory):
        raise SandboxFailed(
            f"the path of the cache {cache} contains a colon, which Java does not support; set {CACHE_VARIABLE}"
        )
    if directory.is_dir():
        return directory
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with locked_file(cache / ".lock") as lock:
            if not directory.is_dir():  # checked again under the lock: another process may have fetched it
                aside, scratch = cache / ".aside", cache / ".ivy"
                shutil.rmtree(aside, ignore_errors=True)
                aside.mkdir()
                scratch.mkdir(exist_ok=True)
                retrieve(Retrieval(wanted.modules, aside, scratch, java, environment, lock), progress)
                aside.rename(directory)
                shutil.rmtree(scratch)
    except OSError as error:
        raise SandboxFailed(
            f"cannot write to the cache {cache}: {error}; set {CACHE_VARIABLE} to another directory"
        ) from error
    return directory


def parse_release(release: str) -> tuple[int, ...]:
    """`4.3.1` -> (4, 3, 1). Raises SandboxFailed if it is not the number of a release."""
    if not _RELEASE.fullmatch(release):
        raise SandboxFailed(f"expected a Kafka release such as {DEFAULT_RELEASE}, found {release!r}")
    return tuple(int(part) for part in release.split("."))


def kafka(release: str) -> JarSet:
    """Broker and Connect of that release. The broker's release also has Kafka's console tools.

    Kafka's modules have no logger binding (the distribution adds one): without it, the log files would stay empty.
    Raises SandboxFailed if it is not the number of a release.
    """
    binding = (
        ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
        if parse_release(release) >= (4, 0, 0)
        else ("org.slf4j", "slf4j-reload4j", "1.7.36")
    )
    modules = (*_MODULES, "kafka-tools") if release == BROKER_RELEASE else _MODULES
    return JarSet(f"kafka-{release}", (*(("org.apache.kafka", module, release) for module in modules), binding))


def plugin_discovery(release: str, *, has_more: bool) -> str:
    """The fast discovery if every plugin declares itself (KIP-898): Kafka's own do from 4.0 on, more may not."""
    if parse_release(release) < (4, 0, 0):
        return "only_scan"
    return "hybrid_warn" if has_more else "service_load"


Fetch = Callable[[JarSet], Path]
"""Returns the directory with the jars of a set; `jars.fetch_jars` does that."""


def plugin_path(plugins: Sequence[str], directory: Path, fetch: Fetch) -> tuple[Path, ...]:
    """The directories for `plugin.path`; an artifact is `maven:GROUP:ARTIFACT:VERSION`. Raises SandboxFailed."""
    # All are read before the first one is fetched.
    parsed = [_parsed(plugin) for plugin in plugins]
    return tuple(one if isinstance(one, Path) else _linked(one, directory, fetch) for one in parsed)


def maven_directory(directory: Path) -> Path:
    """The directory of the artifacts of a sandbox, with a subdirectory for each, named after it."""
    return directory.absolute() / "maven"


def _parsed(plugin: str) -> Path | JarSet:
    """A directory, or an artifact, which is fetched with all its runtime dependencies."""
    if not plugin.startswith(_MAVEN):
        return Path(plugin)
    parts = plugin.removeprefix(_MAVEN).split(":")
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        raise SandboxFailed(f"expected maven:GROUP:ARTIFACT:VERSION, found {plugin!r}")
    group, artifact, version = parts
    return JarSet(artifact, ((group, artifact, version),))


def _linked(artifact: JarSet, directory: Path, fetch: Fetch) -> Path:
    jars, own = fetch(artifact), maven_directory(directory) / "_".join(artifact.modules[0])
    link = own / artifact.name
    try:
        own.mkdir(parents=True, exist_ok=True)
        if link.is_symlink() and link.readlink() != jars:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(jars, target_is_directory=True)
    except OSError as error:
        raise SandboxFailed(f"cannot use the directory {own}: {error}") from error
    return own


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
        reason = _reason(output)
        for group, artifact, version in retrieval.dependencies:
            if reason == f"module not found: {group}#{artifact};{version}":
                where = retrieval.environment.get(MIRROR_VARIABLE, "Maven Central")
                raise SandboxFailed(
                    f"there is no artifact {group}:{artifact}:{version} in {where}: check its group, its name and its"
                    f" version (full output: {log})"
                )
        raise SandboxFailed(
            f"cannot fetch {names} from Maven: {reason} (full output: {log}). Check the network "
            f"connection; use https_proxy for a proxy, or {MIRROR_VARIABLE} for a mirror of Maven Central"
        )


def _run(retrieval: Retrieval, trust: Iterable[str], progress: Progress) -> str | None:
    """None if it succeeded, else the whole output of Ivy."""
    with subprocess.Popen(  # noqa: S603 - our own Java and arguments
        _command(retrieval, trust),
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
            lines = deque(_counted(process.stdout or (), progress), _LINES)
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


def _counted(lines: Iterable[str], progress: Progress) -> Iterator[str]:
    """Ivy's output; reports the number of jars that were found, and then of those that were downloaded."""
    found = downloaded = 0
    for line in lines:
        words = line.split()
        if words[:1] == ["found"]:
            found += 1
            progress(f"{found} jars found", None, None)
        elif words[:2] == ["[SUCCESSFUL", "]"]:
            downloaded += 1
            progress("jars downloaded", downloaded, found)
        yield line


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
