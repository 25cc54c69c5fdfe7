"""A PostgreSQL and a MariaDB server for the tests, from Debian's packages, on 127.0.0.1 and a free port.

The data are in a separate directory below /tmp, because pytest's directory is closed to other users, and a server
refuses to run as root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitops_connect.sandbox.launch import choose_port

HOST = "127.0.0.1"
USER = "connect"
"""The account of the connectors. It has no password: both servers listen on this machine only."""
_GUARD = Path(__file__).with_name("guard.py")
_DEADLINE = 60.0
"""Seconds that a server has to start."""


@dataclass
class Server:
    """One server: its port and directory, the commands of the server and of its client, and the client's database."""

    port: int
    directory: Path
    command: tuple[str, ...]
    account: str
    client: tuple[str, ...]
    database: str
    guard: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        """Start the server on its data, and wait until it answers."""
        command = [sys.executable, str(_GUARD), self.account, str(self.directory), *self.command]
        self.guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        until = time.monotonic() + _DEADLINE
        while self._ask("SELECT 1").returncode != 0:
            alive = self.guard.poll() is None and time.monotonic() < until
            assert alive, (self.directory / "server.log").read_text(errors="replace")
            time.sleep(0.05)

    def stop(self) -> None:
        """Shut the server down. Its data stay, for the next start."""
        assert self.guard is not None
        with self.guard:
            self.guard.terminate()
            self.guard.wait()

    def remove(self) -> None:
        """Shut the server down, and remove its data."""
        if self.guard is not None:
            with self.guard:  # closes its standard input, which ends it, and waits
                pass
        shutil.rmtree(self.directory, ignore_errors=True)

    def sql(self, statement: str, database: str = "") -> str:
        """Run statements in a database, by the server's own client; the rows, with `|` between the columns."""
        done = self._ask(statement, database)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().replace("\t", "|")

    def _ask(self, statement: str, database: str = "") -> subprocess.CompletedProcess[str]:
        command = [*self.client, database or self.database]
        return subprocess.run(command, input=statement, capture_output=True, text=True, check=False, timeout=60)


def start_postgres() -> Server:
    """PostgreSQL with logical replication, as Debezium needs it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    program = found[-1] if found else _program("postgres", "PostgreSQL", "postgresql")
    account, port = _account("postgres"), choose_port((), ())
    directory = _directory("postgres", account)
    data = directory / "data"
    initdb = [str(program.with_name("initdb")), "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync"]
    _run_as(account, directory, [*initdb, "--pgdata", str(data)])
    settings = {
        "listen_addresses": HOST,
        "port": port,
        "unix_socket_directories": "",
        "wal_level": "logical",
        "max_replication_slots": 100,
        "max_prepared_transactions": 1,
        "max_wal_senders": 100,
        "fsync": "off",
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = (str(program), "-D", str(data), *options)
    client = (str(program.with_name("psql")), "-h", HOST, "-p", str(port), "-U", "postgres", "-qAtX")
    server = Server(port, directory, command, account, (*client, "-v", "ON_ERROR_STOP=1"), "postgres")
    return _started(server, f"CREATE ROLE {USER} SUPERUSER LOGIN")


def start_mariadb() -> Server:
    """MariaDB with a binary log of rows, as Debezium needs it."""
    program = _program("mariadbd", "MariaDB", "mariadb-server")
    account, port = _account("mysql"), choose_port((), ())
    directory = _directory("mariadb", account)
    data, socket = directory / "data", directory / "socket"
    install = [str(_program("mariadb-install-db", "MariaDB", "mariadb-server")), "--no-defaults", "--skip-test-db"]
    _run_as(account, directory, [*install, f"--datadir={data}", "--auth-root-authentication-method=normal"])
    options = (
        f"--datadir={data}",
        f"--socket={socket}",
        f"--port={port}",
        f"--bind-address={HOST}",
        "--log-bin=binlog",
        "--binlog-format=ROW",
        "--binlog-row-image=FULL",
        "--server-id=1",
        "--innodb-flush-log-at-trx-commit=0",
    )
    client = (str(_program("mariadb", "MariaDB", "mariadb-client")), "--no-defaults", f"--socket={socket}", "-uroot")
    server = Server(port, directory, (str(program), "--no-defaults", *options), account, (*client, "-N", "-B"), "mysql")
    return _started(server, f"CREATE USER {USER}; GRANT ALL ON *.* TO {USER}")


def _started(server: Server, first: str) -> Server:
    try:
        server.start()
        server.sql(first)
    except BaseException:
        server.remove()
        raise
    return server


def _program(name: str, what: str, package: str) -> Path:
    """Skip the test if the program is missing: the tests install no server without the user's consent."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{what} is not installed (no {name}); on Debian: apt install {package}")
    return Path(found)


def _account(name: str) -> str:
    """The user that runs the server: empty for the current user, or the package's user if root runs the tests."""
    return name if os.geteuid() == 0 else ""


def _directory(name: str, account: str) -> Path:
    directory = Path(tempfile.mkdtemp(prefix=f"gitops-connect-{name}-"))
    if account:
        shutil.chown(directory, account)
    return directory


def _run_as(account: str, directory: Path, command: list[str]) -> None:
    user: dict[str, object] = {"user": account, "group": account, "extra_groups": []} if account else {}
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, **user)  # type: ignore[call-overload]
    if done.returncode != 0:
        shutil.rmtree(directory)
    assert done.returncode == 0, done.stdout + done.stderr
