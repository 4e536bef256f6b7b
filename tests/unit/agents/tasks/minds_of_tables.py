"""Minds for tasks about tables. What they know of a table they were told."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable

from tests.unit.agents.tasks.asked import Asked, Call, Result, Told
from tests.unit.agents.tasks.minds import Thought, call

Column = dict[str, str]
Looking = Generator[Call, Result, list[Column]]


def looked_into(table: Told) -> Looking:
    """The columns of a table: `name`, `kind`, `min`, `max`."""
    found = yield call("profile_table", path=table.path, table=table.name)
    return [dict(zip(("name", "kind", "min", "max"), row, strict=False)) for row in found.rows() if len(row) == 6]


def named(question: str, columns: Iterable[Column]) -> list[str]:
    """The columns that a question names, in its order."""
    found = [column["name"] for column in columns if column["name"] in question]
    return sorted(found, key=question.index)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def reading(asked: Asked, path: str) -> str:
    """How a program reads a file of a table, by what was told of its form."""
    (line,) = (line for line in asked.message.splitlines() if line.startswith(f"- {path}: table "))
    options = [f"{path!r}"]
    if "separated by tabs" in line:
        options.append("sep='\\t'")
    elif found := re.search(r"separated by ('.')", line):
        options.append(f"sep={found[1]}")
    if "decimal comma" in line:
        options.append("decimal=','")
    if found := re.search(r"encoded in ([\w-]+)", line):
        options.append(f"encoding={found[1]!r}")
    return f"pd.read_csv({', '.join(options)})"


def kept(path: str) -> str:
    """What a program does first to write a file."""
    return f"import os\nos.makedirs(os.path.dirname({path!r}) or '.', exist_ok=True)\n"


def joined(asked: Asked) -> Thought:
    """A product of two columns summed up by a third, over three sheets. Takes it that keys have one name everywhere."""
    total, path = asked.names()
    columns = {}
    for table in asked.tables():
        columns[table.name] = yield from looked_into(table)
    pieces, price, group = (_of(columns, name) for name in _three(asked.question, columns))
    orders, *others = pieces[0], price[0], group[0]
    links = []
    for other in others:
        key = _key(columns[orders], columns[other])
        link = f"{quoted(orders)}.{quoted(key)} = {quoted(other)}.{{}}"
        tried = yield call("query_tables", sql=_counting(orders, other, link.format(quoted(key))))
        if tried.failed:
            offered = re.search(rf"^{other} has (.+)\.$", tried.text, re.MULTILINE)
            assert offered is not None, tried.text
            fits = [name for name in offered[1].split(", ") if name in _alike(key, columns[orders], columns[other])]
            assert fits, tried.text
            link = link.format(quoted(fits[0]))
        links.append(f"JOIN {quoted(other)} ON {link}")
    sql = (
        f"SELECT {quoted(group[1])}, round(sum({quoted(pieces[1])} * {quoted(price[1])}), 2) AS {quoted(total)} "
        f"FROM {quoted(orders)} {' '.join(links)} GROUP BY 1 ORDER BY 1"
    )
    saved = yield call("query_tables", sql=sql, save_as=path)
    assert not saved.failed, saved.text
    return f"Totals are in `{saved.written()}`, by `{sql}` over `{asked.tables()[0].path}`."


def _three(question: str, columns: dict[str, list[Column]]) -> list[str]:
    return named(question, [column for each in columns.values() for column in each])


def _of(columns: dict[str, list[Column]], name: str) -> tuple[str, str]:
    return next((table, name) for table, each in columns.items() if any(one["name"] == name for one in each))


def _key(mine: list[Column], other: list[Column]) -> str:
    """The column of the one table whose values are of a kind with some of the other's."""
    return next(one["name"] for one in mine if one["kind"] == "VARCHAR" and _alike(one["name"], mine, other))


def _alike(key: str, mine: list[Column], other: list[Column]) -> list[str]:
    """The columns whose least value begins as that of the key."""
    (least,) = (one["min"] for one in mine if one["name"] == key)
    return [one["name"] for one in other if one["min"][:2] == least[:2]]


def _counting(one: str, other: str, link: str) -> str:
    return f"SELECT count(*) FROM {quoted(one)} JOIN {quoted(other)} ON {link}"


def tidied(asked: Asked) -> Thought:
    """A table without rows that are there twice, with texts trimmed and a number for empty amounts, as a workbook."""
    (table,), (path,) = asked.tables(), asked.names()
    instead = re.search(r"(\d+) where", asked.question)
    assert instead is not None
    columns = yield from looked_into(table)
    (amount,) = named(asked.question, columns)
    code = (
        f"{kept(path)}import pandas as pd\nfound = {reading(asked, table.path)}\n"
        "texts = found.select_dtypes(exclude='number').columns\n"
        "found[texts] = found[texts].apply(lambda column: column.str.strip())\n"
        f"found[{amount!r}] = found[{amount!r}].fillna({instead[1]})\n"
        f"found = found.drop_duplicates()\nprint(len(found))\n"
        f"found.to_excel({path!r}, index=False)"
    )
    made = yield call("run_python", code=code)
    assert not made.failed, made.text
    left = made.text.splitlines()[0]
    return f"`{made.written()}` has {left} rows: those of `{table.path}` without the doubled ones."


def deck(asked: Asked) -> Thought:
    """A slide for each value of a column, with the total of another in its title, and a chart by a third."""
    (table,), (path,) = asked.tables(), asked.names()
    group, measure, across = named(asked.question, (yield from looked_into(table)))
    code = (
        f"{kept(path)}import pandas as pd\nimport matplotlib.pyplot as plt\nfrom pptx import Presentation\n"
        f"from pptx.util import Inches\nfound = {reading(asked, table.path)}\ndeck = Presentation()\n"
        f"for name, rows in found.groupby({group!r}):\n"
        "    slide = deck.slides.add_slide(deck.slide_layouts[5])\n"
        f"    total = rows[{measure!r}].sum()\n"
        "    slide.shapes.title.text = f'{name}: {total:.2f}'\n"
        f"    rows.groupby({across!r})[{measure!r}].sum().plot.bar()\n"
        "    plt.tight_layout()\n    plt.savefig('/tmp/chart.png')\n    plt.close()\n"
        "    slide.shapes.add_picture('/tmp/chart.png', Inches(1), Inches(2), height=Inches(5))\n"
        f"    print(slide.shapes.title.text)\ndeck.save({path!r})"
    )
    made = yield call("run_python", code=code)
    assert not made.failed, made.text
    titles = made.text.partition("\n\nFiles written")[0].splitlines()
    return "\n".join([f"`{made.written()}` has {len(titles)} slides, from `{table.path}`:", *titles])


def leading(asked: Asked) -> Thought:
    """Which value of a column has the greatest total of another; all totals are saved."""
    (table,) = asked.tables()
    total, path = asked.names()
    label, measure = named(asked.question, (yield from looked_into(table)))
    summed = f"sum({quoted(measure)}) AS {quoted(total)}"
    sql = f"SELECT {quoted(label)}, {summed} FROM {quoted(table.name)} GROUP BY 1 ORDER BY 2 DESC"
    found = yield call("query_tables", sql=sql, save_as=path)
    return f"**{found.rows()[0][0]}** leads. All totals: `{found.written()}`, by `{sql}`."


def share(asked: Asked) -> Thought:
    """The share of what the turn before found: by its answer, and the file that it names."""
    answer = asked.before[-1][1]
    first, path = (found[1] for found in (re.search(r"\*\*(.+?)\*\*", answer), re.search(r"`(.+?)`", answer)) if found)
    assert path in asked.paths()
    profile = yield call("profile_table", path=path)
    name = re.search(r"^Table (\S+):", profile.text)
    assert name is not None, profile.text
    label, total = (quoted(row[0]) for row in profile.rows() if len(row) == 6)
    sql = f"SELECT round(100 * sum({total}) FILTER ({label} = '{first}') / sum({total}), 2) FROM {quoted(name[1])}"
    found = yield call("query_tables", sql=sql)
    assert not found.failed, found.text
    return f"{found.rows()[0][0]} % (`{path}`, by `{sql}`)."
