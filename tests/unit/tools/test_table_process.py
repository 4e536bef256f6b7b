"""The process of tables: what it keeps, what its questions may reach and use, and how they end."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentsvc_nb.documents.engine import process
from agentsvc_nb.documents.engine.messages import SqlQuestion, TableAnswer, TableFile, UsedTable
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.documents.tables.profiles import file_names, named
from tests.unit.tools.test_sandbox import children, gone

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
        made = named(read, file_names(read))
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


def test_a_file_is_read_once(asked: Asked) -> None:
    file = asked.put("sales.csv", SALES)
    used = asked.used(file)
    Path(file.file).unlink()
    question = SqlQuestion(sql="SELECT sum(revenue) FROM sales", tables=used)
    assert rows(asked.run(asked.tables.ask(question))) == [("170.50",)]
    assert asked.read(asked.put("copy.csv", SALES)).tables == (asked.read(file).tables)


def test_another_content_is_another_table_whatever_its_path(asked: Asked) -> None:
    assert rows(asked.sql("SELECT count(*) FROM sales", asked.put("sales.csv", SALES))) == [(2,)]
    assert rows(asked.sql("SELECT count(*) FROM sales", asked.put("sales.csv", f"{SALES}mail,1\n"))) == [(3,)]


ATTACKS = [
    "SELECT * FROM {other}",
    "ATTACH '{other}' AS o; SELECT * FROM o.t0",
    "ATTACH '{other}' AS o (READ_ONLY); SELECT * FROM o.t0",
    "SELECT * FROM read_blob('{other}')",
    "SELECT * FROM read_blob('*')",
    "SELECT * FROM read_text('*.json')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM query_table('t0')",
    "SELECT * FROM k1.t0",
    "COPY (SELECT 1) TO '{own}'",
    "COPY (SELECT 1) TO '{own}.wal'",
    "COPY (SELECT 1) TO '{other}'",
    "COPY (SELECT 1) TO '.tmp/x.csv'",
    "EXPORT DATABASE 'x'",
    "INSERT INTO k0.t0 VALUES ('x', 1)",
    "UPDATE k0.t0 SET revenue = 0",
    "DROP TABLE k0.t0",
    "DETACH k0; ATTACH '{own}' AS o; UPDATE o.t0 SET revenue = 0; CHECKPOINT o",
    "DETACH k0; ATTACH '{own}' AS o (READ_WRITE); CREATE TABLE o.n AS SELECT 1; CHECKPOINT o",
    "DETACH k0; ATTACH '{alias}' AS o (READ_WRITE); CREATE TABLE o.n AS SELECT 1; CHECKPOINT o",
    "COPY (SELECT 1) TO '{alias}.wal'",
    "SET enable_external_access = true",
    "SET allowed_paths = ['{other}']",
    "SET file_search_path = '/'",
]


def test_sql_reaches_no_other_table_and_changes_none(asked: Asked) -> None:
    own, other = asked.put("sales.csv", SALES), asked.put("secret.csv", SECRET)
    asked.read(other)
    alias = rows(asked.sql("SELECT path FROM duckdb_databases() WHERE database_name = 'k0'", own))[0][0]
    paths = {"own": f"{own.key}.duckdb", "other": f"{other.key}.duckdb", "alias": alias}
    before = asked.kept()
    for attack in ATTACKS:
        answer = asked.sql(attack.format(**paths), own)
        assert answer.error is not None, (attack, answer)
        assert answer.error[0] == "query", (attack, answer)
        assert asked.kept() == before, attack
        assert rows(asked.sql("SELECT sum(revenue) FROM sales", own)) == [("170.50",)], attack
    assert rows(asked.sql("SELECT table_name FROM duckdb_tables()", own)) == [("t0",)]


def test_what_a_question_makes_is_gone_with_it(asked: Asked) -> None:
    file = asked.put("sales.csv", SALES)
    asked.sql("CREATE TABLE mine AS SELECT * FROM sales; CREATE OR REPLACE VIEW sales AS SELECT 1 AS one", file)
    assert rows(asked.sql("SELECT sum(revenue) FROM sales", file)) == [("170.50",)]
    said = asked.sql("SELECT * FROM mine", file)
    assert said.error is not None


def test_a_question_that_takes_too_much_is_ended(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(process, "PATIENCE_SECONDS", 1.0)
        said = asked.sql(SLOW)
        assert said.error is not None
        assert said.error[0] == "too_much"
    said = asked.sql("SELECT list(range) FROM range(1000000000)")
    assert said.error is not None
    assert said.error[0] in ("query", "too_much")
    assert rows(asked.sql("SELECT 1")) == [(1,)]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_child_that_is_killed_while_it_answers_harms_one_question_only(asked: Asked) -> None:
    file = asked.put("sales.csv", SALES)
    asked.read(file)
    before = asked.children()

    async def killed() -> TableAnswer:
        asking = asyncio.create_task(asked.tables.ask(SqlQuestion(sql=SLOW, tables=())))
        await asyncio.sleep(0.5)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        return await asking

    said = asked.run(killed())
    assert said.error is not None
    assert rows(asked.sql("SELECT count(*) FROM sales", file)) == [(2,)]
    assert all(gone(pid) for pid in before)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_question_that_nobody_waits_for_is_withdrawn(asked: Asked) -> None:
    rows(asked.sql("SELECT 1"))
    (child,) = asked.children()

    async def cancelled() -> None:
        asking = asyncio.create_task(asked.tables.ask(SqlQuestion(sql=SLOW, tables=())))
        await asyncio.sleep(0.5)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asked.run(cancelled())
    assert gone(child)
    assert rows(asked.sql("SELECT 1")) == [(1,)]


def test_one_child_answers_many_questions(asked: Asked) -> None:
    file = asked.put("sales.csv", SALES)
    asked.read(file)
    before = asked.children()
    for _ in range(5):
        rows(asked.sql("SELECT sum(revenue) FROM sales", file))
    assert asked.children() == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_child_that_was_started_early_is_the_one_that_is_asked(asked: Asked) -> None:
    async def warmed() -> None:
        for _ in range(2):
            asked.tables.warm()
            assert asked.tables._warming
            await asked.tables._warming

    asked.run(warmed())
    before = asked.children()
    assert len(before) == 1
    asked.read(asked.put("sales.csv", SALES))
    assert asked.children() == before


def test_what_was_not_used_for_long_is_removed_and_read_again(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = asked.put("sales.csv", SALES), asked.put("secret.csv", SECRET)
    used = asked.used(first, second)
    os.utime(asked.folder / "kept" / f"{first.key}.duckdb", (time.time() - 7200,) * 2)
    asked.tables.sweep()
    assert f"{second.key}.duckdb" in asked.kept()
    assert f"{first.key}.duckdb" not in asked.kept()
    assert rows(asked.sql("SELECT count(*) FROM sales", first)) == [(2,)]
    monkeypatch.setattr(process, "KEPT_BYTES", 0)
    asked.tables.sweep()
    assert asked.kept() == {}
    question = SqlQuestion(sql="SELECT sum(revenue) FROM sales", tables=used[:1])
    assert rows(asked.run(asked.tables.ask(question))) == [("170.50",)]


def test_a_file_that_can_not_be_read_says_why(asked: Asked) -> None:
    broken = asked.put("broken.xlsx", "no workbook")
    assert asked.read(broken).error == ("unreadable", "", "The file is not a workbook, or is damaged.")
    lost = asked.put("lost.csv", SALES)
    Path(lost.file).unlink()
    assert asked.read(lost).error == ("unreadable", "", "The file is gone.")


def test_views_have_the_columns_own_names_and_exact_types(asked: Asked) -> None:
    content = "Day;Käufe;Cost in €;Watch time;CTR\n31.01.2026;3;1.200,50 €;1:02:03;12,5%\n01.02.2026;;0,10 €;0:45;1%\n"
    file = asked.put("ads.csv", content)
    described = {name: type_ for name, type_, *_ in rows(asked.sql("DESCRIBE ads", file))}
    assert described == {
        "Day": "DATE",
        "Käufe": "BIGINT",
        "Cost in €": "DECIMAL(18,2)",
        "Watch time": "BIGINT",
        "CTR": "DECIMAL(18,1)",
    }
    sql = 'SELECT sum("Käufe"), sum("Cost in €"), sum("Watch time"), max("CTR"), max("Day") FROM ads'
    assert rows(asked.sql(sql, file)) == [(3, "1200.60", 3768, "12.5", "2026-02-01")]
    units = [(column.unit, column.empty) for column in asked.read(file).tables[0].columns]
    assert units == [("", 0), ("", 1), ("€", 0), ("s", 0), ("%", 0)]


def test_unread_cells_are_counted_in_the_profile(asked: Asked) -> None:
    (table,) = asked.read(asked.put("runs.csv", "run,seconds\na,1\nb,2\nc,3\nd,DNF\n")).tables
    assert (table.columns[1].unread, table.columns[1].unread_texts) == (1, ("DNF",))
    assert table.notes == ("seconds: 1 cell is not a number and not counted: 'DNF'.",)


def test_the_next_server_removes_what_was_kept(asked: Asked) -> None:
    asked.read(asked.put("sales.csv", SALES))
    assert asked.kept()
    TableProcess(asked.folder / "kept").start()
    assert asked.kept() == {}
