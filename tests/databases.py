"""Databases on this machine for the tests: files of SQLite and DuckDB, and a server of PostgreSQL."""

import contextlib
import glob
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from brokers import free_port

KINDS = ("sqlite", "duckdb", "postgresql")
PASSWORD = "Zq7/marK"
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")


def postgresql_program():
    """The newest ``initdb`` that is installed beside ``postgres``; None where there is none."""
    found = [path for place in PLACES for path in sorted(glob.glob(f"{place}/initdb"))]
    return next((Path(path) for path in reversed(found) if Path(path).with_name("postgres").exists()), None)


def available():
    return [kind for kind in KINDS if kind != "postgresql" or postgresql_program() is not None]


class Database:
    """A database with a table ``t``: ``id``, three numbers ``a``, ``b``, ``c``, and a name."""

    def __init__(self, kind, folder):
        self.kind, self.folder = kind, Path(folder)
        self.path = self.folder / f"data.{kind}"
        self.url = self.shown = f"{kind}:///{self.path}"

    def execute(self, *statements, rows=None):
        """Execute statements in one transaction, or one for each of some rows; return the last result."""
        if self.kind == "sqlite":
            with contextlib.closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
                return _executed(connection, statements, rows)
        import duckdb

        for _ in range(600):  # until the other process has closed the file
            try:
                with duckdb.connect(str(self.path)) as connection:
                    return _executed(connection, statements, rows)
            except duckdb.IOException as error:
                if "lock" not in str(error):
                    raise
                time.sleep(0.01)
        raise AssertionError("the file stays locked")

    def create(self, X, kind="DOUBLE PRECISION"):
        self.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, a {kind}, b {kind}, c {kind}, name TEXT)")
        self.insert(X, 1)

    def insert(self, X, first, prefix="n"):
        rows = [(first + i, *map(float, row), f"{prefix}{first + i}") for i, row in enumerate(X)]
        if rows:
            self.execute(f"INSERT INTO t VALUES ({self.marks(5)})", rows=rows)

    def marks(self, n):
        return ", ".join(["?"] * n)

    def close(self):
        pass


def _executed(connection, statements, rows):
    if rows is not None:
        connection.executemany(statements[0], rows)
        return None
    found = None
    for statement in statements:
        found = connection.execute(statement).fetchall()
    return found


class PostgreSQL(Database):
    """A server with an own folder, on a free port, which asks for a password."""

    def __init__(self):
        import adbc_driver_postgresql.dbapi

        program = postgresql_program()
        if program is None:
            pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
        self.kind, self.program = "postgresql", program
        self.folder, self.port = Path(tempfile.mkdtemp(prefix="driftmap-pg-")), free_port()
        self.user = "postgres" if getattr(os, "getuid", lambda: 1)() == 0 else None  # which refuses to run as root
        if self.user is not None:
            import pwd  # which Windows does not have

            entry = pwd.getpwnam(self.user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        self.environment = {**os.environ, "LC_ALL": "C"}
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data = self.folder / "data"
        self._run(
            program, "-D", data, "-U", "tester", "-A", "scram-sha-256", "--pwfile", secret, "--no-sync", "-E", "UTF8"
        )
        self.start()
        self.shown = f"postgresql://127.0.0.1:{self.port}/postgres"
        self.url = self.shown.replace("//", f"//tester:{PASSWORD.replace('/', '%2F')}@")
        self._connect = lambda: adbc_driver_postgresql.dbapi.connect(self.url)
        for _ in range(200):
            with contextlib.suppress(Exception):
                self._connect().close()
                return
            time.sleep(0.05)
        raise RuntimeError("PostgreSQL does not answer")

    def _run(self, *words):
        done = subprocess.run(
            list(map(str, words)), user=self.user, env=self.environment, cwd="/", capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self):
        words = [self.program.with_name("postgres"), "-D", self.folder / "data", "-p", self.port, "-k", self.folder]
        words += ["-h", "127.0.0.1", "-c", "fsync=off"]
        self.process = subprocess.Popen(
            list(map(str, words)), user=self.user, env=self.environment, cwd="/",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def stop(self):
        self.process.send_signal(2)  # a fast shutdown
        self.process.wait()

    def execute(self, *statements, rows=None):
        with contextlib.closing(self._connect()) as connection:
            found = None
            with connection.cursor() as cursor:
                if rows is not None:
                    cursor.executemany(statements[0], rows)
                for statement in statements if rows is None else ():
                    cursor.execute(statement)
                    found = cursor.fetchall() if cursor.description else None
            connection.commit()
            return found

    def marks(self, n):
        return ", ".join(f"${i}" for i in range(1, n + 1))

    def clear(self):
        """Drop all tables."""
        self.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")

    def close(self):
        self.stop()
        shutil.rmtree(self.folder)
