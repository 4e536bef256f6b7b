"""SQL of the agent: what may be asked of the user's database, and what is sent back."""

from __future__ import annotations

import pytest

from agentsvc_nb.notebook.kernel.masking import Rules
from agentsvc_nb.notebook.kernel.statements import Refused, check

TABLES = {
    "sales": [("region", "text"), ("amount", "int")],
    "users": [("id", "int"), ("city", "text"), ("password", "text")],
    "staff": [("id", "int"), ("salary", "int")],
}
RULES = Rules(hidden=("sal?ry", "board*"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, sum(amount) * 2 AS s FROM sales GROUP BY 1 ORDER BY 2 DESC;",
        "select * from sales",
        "(select 1)",
        "with big as (select * from sales where amount > 10) select count(*) from big",
        "select replace(region, 'a', 'it''s; --'[1:2]) from sales".replace("; --", ""),
        'select "update", t.set from sales t',
        "select u.city, count(*) from users as u join sales s on u.city = s.region group by u.city",
        "select id * 2 from users where id in (select id from staff)",
        "select x.id from (select id from users) x",
        "select extract(year from day) from sales",
    ],
)
def test_what_reads_is_let_pass(sql: str) -> None:
    assert check(sql, TABLES, RULES) == sql.removesuffix(";")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("insert into sales values (1)", "begins with SELECT"),
        ("", "begins with SELECT"),
        ("select 1; drop table sales", "Only one statement"),
        ("select 'a", "Only one statement"),
        ("with x as (delete from sales returning *) select * from x", "DELETE"),
        ("select * into copied from sales", "INTO"),
        ("select * from sales for update", "UPDATE"),
        ("select 1 -- ; drop table sales", "comments"),
        ("select 1 /*! ; drop table sales */", "comments"),
        ("select '\\'; drop table sales; --'", "backslashes"),
        ("select $$a$$", "comments"),
        ("select 1 \u202e", "invisible"),
        ("select 1 \u3164", "invisible"),
        ("select U&\"!0073alary\" uescape '!' from staff", "UESCAPE"),
        ("select pg_terminate_backend(1)", "pg_terminate_backend"),
        ("select * from information_schema.columns", "information_schema"),
        ("select * from sqlite_master", "sqlite_master"),
        ("select * from '/etc/passwd'", "files are not read"),
        ("select * from read_csv('/etc/hostname')", "read_csv"),
        ("select * from query('select 1')", "query"),
        ("select nextval('numbers')", "nextval"),
        ("select dblink('x', 'y')", "dblink"),
    ],
)
def test_what_could_do_more_is_refused_with_the_reason(sql: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        check(sql, TABLES, Rules())


@pytest.mark.parametrize(
    "sql",
    [
        "select salary as s from staff",
        'select "SALARY" from staff',
        "select `salary` from staff",
        "select 'salary'",
        "select * from staff",
        "select distinct * from staff",
        "select s.* from staff s",
        "select 1, * from staff",
        "select s from staff s",
        "select to_json(s) from staff as s",
        "select staff from staff",
        "select a from staff as s(a, b)",
        "select a from staff s (a, b)",
        "select a from (from staff) t(a, b)",
        "select 1, 2 union all from staff",
        "select 1, 2 union all table staff",
        "select row(*) from staff",
        "select columns('s.*') from staff",
        "select staff from sales, staff",
        "select * from sales natural join staff",
        "select 1 from board_minutes",
        "select password as p from users",
        "select * from users",
    ],
)
def test_what_is_withheld_is_not_asked_under_another_name(sql: str) -> None:
    with pytest.raises(Refused):
        check(sql, TABLES, RULES)
