"""The rows of CSV and its kin: encoding, delimiter and quoting are found out."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from agentsvc_nb.documents.decoding import DecodedText, decode
from agentsvc_nb.documents.tables.dates import read_dates
from agentsvc_nb.documents.tables.model import BYTES_MAX, CELLS_MAX, RawTable, TableNotes, UnreadableTable, is_empty
from agentsvc_nb.documents.tables.numbers import number_of

_DELIMITERS: Final = ",;\t|"
_RARE_DELIMITERS: Final = "^~¦\x1f\x01"
"""Delimiters that have to divide every line."""
_SAMPLE_CHARS: Final = 50_000
_SAMPLE_ROWS: Final = 100
_DIGIT: Final = re.compile(r"\d")
_BESIDE_NO_DIGIT: Final = re.compile(r"(?<!\d),|,(?!\d)")


def read_delimited(name: str, data: bytes, tabs: bool = False, cells_max: int = CELLS_MAX) -> RawTable:
    """The rows of a delimited text, up to so many cells. `tabs`: its name says that tabs divide it. Raises
    `UnreadableTable`."""
    decoded = decoded_table(data)
    text = decoded.text
    remarks = [f"Its encoding is a guess: {decoded.encoding}."] if decoded.guessed else []
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        remarks.append(f"It holds bytes that are no {decoded.encoding}; they are shown as \ufffd.")
    told = re.match(r"\ufeff?sep=(.)\r?\n", text)
    text = text[told.end() :] if told else text
    dialect = dialect_of(text, told[1] if told else "\t" if tabs else "")
    rows, more, remark = rows_of(text, dialect, cells_max)
    remarks += [remark] if remark else []
    notes = TableNotes(encoding=decoded.encoding, delimiter=dialect.delimiter, rows_left_out=more, remarks=(*remarks,))
    return RawTable(name, rows, notes=notes, first_number=2 if told else 1)


def decoded_table(data: bytes) -> DecodedText:
    """The text of a table. Raises `UnreadableTable` if the bytes are none."""
    found = decode(data, cut=False)
    if found is None:
        if not data.strip(b"\0"):
            raise UnreadableTable("The file is empty.")
        raise UnreadableTable("The file is no text.")
    return found


class CsvForm(NamedTuple):
    """How cells are divided and quoted."""

    delimiter: str
    spaced: bool = False
    """Whether a space stands between the delimiter and a quotation mark."""
    quote: str = '"'
    escape: bool = False
    """Whether a backslash stands before quotation marks in quoted cells."""
    quoting: bool = True

    def reader(self, lines: Iterable[str], strict: bool = False) -> Any:
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            skipinitialspace=self.spaced,
            doublequote=not self.escape,
            escapechar="\\" if self.escape else None,
            quoting=csv.QUOTE_MINIMAL if self.quoting else csv.QUOTE_NONE,
            strict=strict,
        )


def rows_of(text: str, dialect: CsvForm, cells_max: int = CELLS_MAX) -> tuple[list[Sequence[str]], int, str]:
    """The rows, up to the limit of cells; how many more there are; and what is wrong with their quotation marks, in
    which case they are read as well as can be. Raises `UnreadableTable`."""
    escaped = dialect._replace(escape=True)
    try:
        with contextlib.suppress(csv.Error):
            return *_rows(text, dialect, cells_max, strict=True), ""
        if "\\" + dialect.quote in text:
            with contextlib.suppress(csv.Error):
                return *_rows(text, escaped, cells_max, strict=True), ""
        if _unclosed(text, dialect):
            remark = "A quotation mark is never closed, so quotation marks are read as they stand."
            return *_rows(text, dialect._replace(quoting=False), cells_max), remark
        return *_rows(text, dialect, cells_max), "Quotation marks stand within cells; they are read as they stand."
    except csv.Error as error:
        raise UnreadableTable(f"The file is no delimited text: {error}.") from None


def _rows(text: str, dialect: CsvForm, cells_max: int, strict: bool = False) -> tuple[list[Sequence[str]], int]:
    reader = dialect.reader(io.StringIO(text, newline=""), strict)
    rows: list[Sequence[str]] = []
    room = cells_max
    csv.field_size_limit(BYTES_MAX)
    while room > 0 and (some := list(islice(reader, 10_000))):
        rows += some
        room -= sum(map(len, some))
    return rows, sum(1 for _ in reader) if room <= 0 else 0


def _unclosed(text: str, dialect: CsvForm) -> bool:
    """Whether the last row takes in lines that it should not: a quotation mark in it is never closed."""
    rows, _ = _rows(text + dialect.delimiter, dialect, CELLS_MAX)
    return bool(rows) and rows[-1][-1:] != [""]


def dialect_of(text: str, delimiter: str) -> CsvForm:
    """How the beginning of a text is divided and quoted, by this delimiter if it is told."""
    sample = text[:_SAMPLE_CHARS]
    if len(text) > len(sample):
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    delimiter = delimiter if delimiter and delimiter in sample else _delimiter(sample)
    spaced = f'{delimiter} "' in sample
    plain = CsvForm(delimiter, spaced)
    if "'" in sample and '"' not in sample and _quoted_singly(sample, delimiter):
        return plain._replace(quote="'")
    return plain


def _quoted_singly(sample: str, delimiter: str) -> bool:
    """Whether apostrophes stand around cells, in every line but perhaps the first."""
    lines = [line for line in sample.splitlines() if line.strip()][:_SAMPLE_ROWS]
    end = re.escape(delimiter)
    quoted = re.compile(rf"(?:^|{end})\s*'[^'\n]*'\s*(?={end}|$)")
    return len(lines) > 1 and all(quoted.search(line) for line in lines[1:])


def _delimiter(sample: str) -> str:
    """The delimiter that divides most rows into the same number of cells."""
    lines = [line for line in io.StringIO(sample, newline="") if line.strip()]
    scores = {mark: _score(lines, mark) for mark in _DELIMITERS if mark in sample}
    scores |= {mark: _score(lines, mark, every=True) for mark in _RARE_DELIMITERS if mark in sample}
    best = max(scores, key=lambda mark: scores[mark], default=",")
    if best == ",":
        others = [mark for mark in ";\t|" if mark in scores and _divides_beside_commas(lines, mark)]
        best = max(others, key=lambda mark: scores[mark], default=best)
    return best if scores and scores[best][0] > 0 else ","


def _divides_beside_commas(lines: Sequence[str], mark: str) -> bool:
    """Whether commas, which divide most evenly, belong to numbers and titles, and `mark` divides."""
    at = [number for number, line in enumerate(lines) if mark in line]
    with_comma = sum("," in line for line in lines)
    if len(at) > with_comma:
        # Of `Blue;Hall 1;2,5` the decimal comma divides most lines, and so evenly that it looks like more numbers.
        return not any(_BESIDE_NO_DIGIT.search(line) for line in lines)
    # Of a header without any comma above rows as `Blue\t1,000\t20,000.00`, below a title with two.
    return 2 * len(at) > with_comma and "," not in lines[at[0]] and at[-1] - at[0] + 1 == len(at)


def _score(lines: Sequence[str], delimiter: str, every: bool = False) -> tuple[float, int]:
    """How well a delimiter divides lines: the share of rows of the commonest width, more where cells are numbers or
    dates; and the width. `every`: it has to divide every row so."""
    try:
        found = list(islice(CsvForm(delimiter).reader(lines), 4 * _SAMPLE_ROWS))
    except csv.Error:
        return (0, 0)
    widths = Counter(len(row) for row in found if len(row) > 1)
    if not widths:
        return (0, 0)
    width, rows = widths.most_common(1)[0]
    if every and rows < len(found):
        return (0, 0)
    cells = [cell for row in found if len(row) == width for cell in row][: _SAMPLE_ROWS * width]
    plain = sum(map(_is_plain, cells))
    return (rows / len(found) * (1 + plain / len(cells)), width)


def _is_plain(cell: str) -> bool:
    """Whether a cell is empty, a number or a date."""
    if is_empty(cell):
        return True
    if not _DIGIT.search(cell):
        return False  # no date is without its year
    return any(number_of(cell, mark) is not None for mark in ".,") or read_dates({cell: 1}) is not None
