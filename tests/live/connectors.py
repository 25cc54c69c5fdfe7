"""The plugins of the live tests, one directory each: Debezium from Maven Central, and a stand-in for the JDBC source.

The JDBC sources of Aiven and of Confluent are not on Maven Central, so `java/` has the smallest connector that writes
and reads offsets as Aiven's does, under its class name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support.plugins.builder import build_jar

from gitops_connect.sandbox.jars import JarSet, Progress, fetch_jars
from gitops_connect.sandbox.maven import Artifact

DEBEZIUM = "3.3.0.Final"
"""The only 3.3 release that Maven Central has for both PostgreSQL and MariaDB."""
JAR_SETS = tuple(
    JarSet(f"debezium-connector-{database}", (Artifact("io.debezium", f"debezium-connector-{database}", DEBEZIUM),))
    for database in ("postgres", "mariadb")
)


def fetch_debezium(environment: Mapping[str, str], progress: Progress) -> dict[str, Path]:
    """The directory of jars of each Debezium connector by its name; from Maven Central if it is not in the cache."""
    return {wanted.name: fetch_jars(wanted, environment, progress) for wanted in JAR_SETS}


def build_live_plugins(directory: Path, environment: Mapping[str, str]) -> Path:
    """Fill `directory` with all plugins, for a plugin path. PostgreSQL's driver is next to the JDBC source."""
    jdbc = directory / "jdbc-source"
    jdbc.mkdir(parents=True)
    debezium = fetch_debezium(environment, lambda *words: None)
    for name, jars in debezium.items():
        (directory / name).symlink_to(jars, target_is_directory=True)
    for driver in debezium["debezium-connector-postgres"].glob("postgresql-*.jar"):
        (jdbc / driver.name).symlink_to(driver)
    build_jar(Path(__file__).parent, jdbc / "jdbc-source.jar", environment)
    return directory
