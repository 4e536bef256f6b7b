"""The process of tables: what it keeps, what its questions may reach and use, and how they end."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentsvc_nb.documents.engine import process
from agentsvc_nb.documents.engine.messages import SqlQuestion, TableAnswer, TableFile, UsedTable
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.documents.tables.profiles import file_names, name_tables
from tests.unit.tools.test_sandbox import children

T = TypeVar("T")
SALES = "channel,revenue\nsearch,100.50\nsocial,70\n"
SECRET = "name,salary\nBoss,999999\n"
SLOW = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


class Asked:
    """A process of tables, with the files of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self._others = children()  # services of other tests
        self.tables = TableProcess(folder / "kept")
        self.tables.start()

    def put(self, name: str, content: str) -> TableFile:
        path = self.folder / name
        path.write_text(content)
        return TableFile(hashlib.sha256(content.encode()).hexdigest(), path.suffix, str(path))

    def read(self, file: TableFile) -> TableAnswer:
        return self.run(self.tables.read(file))

    def used(self, *files: TableFile) -> tuple[UsedTable, ...]:
        read = {Path(file.file).name: self.read(file).tables for file in files}
        made = name_tables(read, file_names(read))
        return tuple(UsedTable(file, at, one) for file in files for at, one in enumerate(made[Path(file.file).name]))

    def sql(self, sql: str, *files: TableFile) -> TableAnswer:
        return self.run(self.tables.ask(SqlQuestion(sql=sql, tables=self.used(*files))))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def children(self) -> set[int]:
        """The process ids of the processes of tables."""
        return children() - self._others

    def kept(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folder / "kept").iterdir()}


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    made = Asked(tmp_path)
    yield made
    made.tables.close()
    made.loop.close()


def rows(said: TableAnswer) -> list[tuple[Any, ...]]:
    assert said.query is not None, said
    return list(said.query.rows)


ATTACKS = [
    "SELECT * FROM {other}",
    "ATTACH '{other}' AS o (READ_ONLY); SELECT * FROM o.t0",
    "SELECT * FROM read_blob('{other}')",
    "SELECT * FROM query_table('t0')",
    "SELECT * FROM k1.t0",
    "COPY (SELECT 1) TO '{own}'",
    "COPY (SELECT 1) TO '{other}'",
    "INSERT INTO k0.t0 VALUES ('x', 1)",
    "UPDATE k0.t0 SET revenue = 0",
    "DETACH k0; ATTACH '{own}' AS o (READ_WRITE); CREATE TABLE o.n AS SELECT 1; CHECKPOINT o",
    "DETACH k0; ATTACH '{alias}' AS o (READ_WRITE); CREATE TABLE o.n AS SELECT 1; CHECKPOINT o",
    "SET enable_external_access = true",
    "SELECT * FROM read_csv('{plain}')",
    "SELECT * FROM 'http://127.0.0.1:9/x.csv'",
    "SET allowed_paths = ['{other}']",
]


@pytest.mark.rule("A query reads no file, network or other account's table.")
def test_sql_reaches_no_other_table_and_changes_none(asked: Asked) -> None:
    own, other = asked.put("sales.csv", SALES), asked.put("secret.csv", SECRET)
    asked.read(other)
    alias = rows(asked.sql("SELECT path FROM duckdb_databases() WHERE database_name = 'k0'", own))[0][0]
    assert str(asked.folder) not in alias
    paths = {"own": f"{own.key}.duckdb", "other": f"{other.key}.duckdb", "alias": alias, "plain": other.file}
    before = asked.kept()
    for attack in ATTACKS:
        answer = asked.sql(attack.format(**paths), own)
        assert answer.error is not None, (attack, answer)
        assert answer.error[0] == "query", (attack, answer)
        assert asked.kept() == before, attack
        assert rows(asked.sql("SELECT sum(revenue) FROM sales", own)) == [("170.50",)], attack
    assert rows(asked.sql("SELECT table_name FROM duckdb_tables()", own)) == [("t0",)]


def test_a_question_that_takes_too_much_is_ended(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(process, "PATIENCE_SECONDS", 1.0)
        said = asked.sql(SLOW)
        assert said.error is not None
        assert said.error[0] == "too_much"
    assert rows(asked.sql("SELECT 1")) == [(1,)]
