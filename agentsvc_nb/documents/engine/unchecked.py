"""Find unchecked rows of a large table that may be totals. In a small table, Python checks each row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from agentsvc_nb.documents.engine.dialect import quote_text
from agentsvc_nb.documents.tables.model import ReadColumn
from agentsvc_nb.documents.tables.summaries import LINES_MAX, VALUES_MAX
from agentsvc_nb.documents.tables.totals import describe_unchecked

if TYPE_CHECKING:
    import duckdb

BLANK: Final = "('', ' ', '-', '--', '—', '–')"
_LABELS_MAX: Final = 20_000
"""The maximum number of distinct labels in a column that is searched for periods such as `2023-Q1`."""
_PERIOD: Final = re.compile(r"(19|20)\d\d(\W?[QHqh]?\d)?")
_CERTAIN: Final = 1_000
"""If the numbers that equal sums have a total above this, they are not equal by coincidence."""


class UncheckedRows:
    """Describes the rows that may be totals, in a typed table whose columns are called `c0`, `c1` and so on.

    Args:
        engine: The DuckDB connection.
        name: The typed table, from which proven totals were removed.
        raw: The table of all cells as texts. The table `gone` lists the row ids in `raw` of the removed totals.
        rows: The number of rows of `raw`.
        columns: The columns of both tables.
    """

    def __init__(
        self, engine: duckdb.DuckDBPyConnection, name: str, raw: str, rows: int, columns: Sequence[ReadColumn]
    ) -> None:
        self.engine, self.name, self.columns = engine, name, columns
        self.left = f"{raw} WHERE rowid NOT IN (SELECT place FROM gone)"
        self.end = rows - LINES_MAX
        years = {at for at, column in enumerate(columns) if column.kind == "number" and self._are_years(at)}
        self.keys = [at for at, column in enumerate(columns) if column.kind != "number" or at in years]
        self.measures = [at for at, column in enumerate(columns) if column.kind == "number" and at not in years]

    def describe(self, named: Sequence[tuple[int, str]]) -> str:
        """Return sentences about the rows that are counted although they may be totals, or "" if there are no such
        rows.

        `named` lists the cells that name a total, each with the index of its column.
        """
        if not self.measures:
            return ""
        said = [
            self._describe_named(named),
            self._describe_blank_labels(),
            self._describe_last_rows(),
            self._describe_cube_totals(),
            self._describe_periods(),
        ]
        return " ".join(filter(None, said))

    def _count(self, what: str, rest: str) -> int:
        (count,) = self.engine.execute(f"SELECT {what} FROM {rest}").fetchone() or (0,)
        return count or 0

    def _are_years(self, at: int) -> bool:
        what = f"coalesce(min(c{at}) >= 1800 AND max(c{at}) <= 2200, false)::INT"
        return not self.columns[at].decimals and bool(self._count(what, self.name))

    def _describe_named(self, named: Sequence[tuple[int, str]]) -> str:
        if not named:
            return ""
        is_named = " OR ".join(
            f"c{at} IN ({', '.join(quote_text(cell) for column, cell in named if column == at)})" for at in dict(named)
        )
        count = self._count("count(*)", f"{self.left} AND rowid < {self.end} AND ({is_named})")
        return describe_unchecked(count) if count else ""

    def _describe_blank_labels(self) -> str:
        """Return a sentence that says how many rows have no value in the first column of labels, or "" if all have
        one."""
        labels = [at for at in self.keys if self.columns[at].kind != "number"]
        if not labels or any(at not in self.keys for at in range(labels[0])):
            return ""
        count = self._count("count(*)", f"{self.left} AND rowid < {self.end} AND c{labels[0]} IN {BLANK}")
        if not count:
            return ""
        lack, were = ("1 row lacks", "was") if count == 1 else (f"{count:,} rows lack", "were")
        title = self.columns[labels[0]].name
        return f"{lack} a value of {title!r}, and {were} not checked for totals, because the file is large."

    def _describe_last_rows(self) -> str:
        """Return a sentence if a column that does not contain numbers lacks values in the last rows, and only there.
        Otherwise, return "".

        Such rows may be totals, because totals often lack a label.
        """
        for at, column in enumerate(self.columns):
            if column.kind == "number":
                continue
            count = self._count(f"count(*) - count(c{at})", self.name)
            last = f"c{at} IS NULL AND rowid >= (SELECT max(rowid) - {LINES_MAX - 1} FROM {self.name})"
            if 0 < count <= LINES_MAX and self._count("count(*)", f"{self.name} WHERE {last}") == count:
                return f"The last rows have no value of {column.name!r} and may be totals."
        return ""

    def _describe_cube_totals(self) -> str:
        """Return a sentence about labels such as `all regions`, or "" if there are none.

        The rows of such a label are the sums of the rows with other labels in the same column (the single regions).
        """
        distinct = ", ".join(f"approx_count_distinct(c{at})" for at in self.keys)
        if not distinct:
            return ""
        counts = self.engine.execute(f"SELECT {distinct} FROM {self.name}").fetchone() or ()
        for key in (at for at, count in zip(self.keys, counts, strict=True) if 2 < count <= VALUES_MAX):
            others = [f"coalesce(c{at}::VARCHAR, '')" for at in self.keys if at != key]
            alike = f"hash({', '.join(others)})" if others else "0"
            labels: set[str] | None = None
            for measure in self.measures:
                labels = self._find_sums_of_others(key, alike, measure, labels)
                if not labels:
                    break
            if labels:
                shown = ", ".join(map(repr, sorted(labels)[:3]))
                return f"The rows of {shown} in {self.columns[key].name!r} are sums of other rows, but count, too."
        return ""

    def _find_sums_of_others(self, key: int, alike: str, measure: int, among: set[str] | None) -> set[str]:
        """Return the labels of column `key`, such as `all regions`, whose rows are sums of rows with other labels.

        Only rows with the same labels in all other columns are added up. The SQL expression `alike` has the same value
        for them. `measure` is the column with the numbers to add up. `among`, if given, holds the only labels to
        consider.
        """
        # Leave out rows with an unread date, because their dates may differ.
        dated = "".join(f" AND c{at} IS NOT NULL" for at in self.keys if self.columns[at].kind != "text")
        places = self.columns[measure].decimals or 0
        room = f"n * {10.0**-places / 2:.12f}" if places else "0"
        groups = (
            f"SELECT {alike} AS alike, sum(c{measure}) AS whole, count(c{measure}) AS n FROM {self.name}"
            f" WHERE true{dated} GROUP BY 1 HAVING n > 1"
        )
        is_sum = f"abs(2 * c{measure} - whole) <= {room}"
        found = self.engine.execute(
            f"SELECT c{key}::VARCHAR FROM {self.name} JOIN ({groups}) g ON {alike} = g.alike"
            f" WHERE c{key} IS NOT NULL{dated} GROUP BY c{key}"
            f" HAVING bool_and({is_sum}) AND count(*) FILTER (n > 2) > 1"
            f" AND sum(abs(c{measure})) > {_CERTAIN if among is None else 0}"
        ).fetchall()
        labels = {label for (label,) in found}
        return labels if among is None else labels & among

    def _describe_periods(self) -> str:
        """Return a sentence about periods that are labels of the same column as their parts (`2023` and `2023-Q1`), or
        ""."""
        if not self.keys or self.columns[self.keys[0]].kind != "text":
            return ""
        asked = f"SELECT DISTINCT c{self.keys[0]} FROM {self.name} WHERE c{self.keys[0]} IS NOT NULL"
        found = [label for (label,) in self.engine.execute(f"{asked} LIMIT {_LABELS_MAX + 1}").fetchall()]
        begun = {label[: end.start()] for label in found for end in re.finditer(r"(?<=\w)(?!\w)", label[:20])
                 if end.start() < len(label)}  # fmt: skip
        whole = sorted(label for label in found if label in begun and _PERIOD.fullmatch(label))
        if not whole or len(found) > _LABELS_MAX:
            return ""
        column = self.columns[self.keys[0]].name
        return f"{', '.join(map(repr, whole[:3]))} and parts of these periods are labels of {column!r}."
