"""Read the cells of delimited text, such as CSV: find its encoding, delimiter and quoting."""

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
from agentsvc_nb.documents.tables.layout import is_separator
from agentsvc_nb.documents.tables.model import BYTES_MAX, CELLS_MAX, Cell, MarkedText, Sheet, UnreadableTable
from agentsvc_nb.documents.tables.values import is_date, is_empty, read_number

_DELIMITERS: Final = ",;\t|"
_RARE_DELIMITERS: Final = "^~¦\x1f\x01"
"""Delimiters that count only if they occur in every line."""
_SAMPLE_CHARS: Final = 50_000
_SAMPLE_ROWS: Final = 100
_NO_CELL_COMMA: Final = re.compile(r"(?<!\d),|,(?!\d)")
_SEP_LINE: Final = re.compile(r'\ufeff?"?sep=(.)"?\r?\n')
_MARKED: Final = re.compile(r'="([^"]*)"')
END_OF_FILE: Final = "\x1a"
_CONTROLS: Final = re.compile(rb"[\x01-\x08\x0e-\x19\x7f]")


class CsvForm(NamedTuple):
    """The format of a delimited text: its delimiter, and how cells are quoted."""

    delimiter: str
    spaced: bool = False
    """True if there is a space between delimiters and quotation marks."""
    quote: str = '"'
    escape: bool = False
    """True if quotation marks in quoted cells are escaped with a backslash."""
    quoting: bool = True

    def reader(self, lines: Iterable[str], strict: bool = False) -> Any:
        """Return a `csv.reader` for lines in this format."""
        csv.field_size_limit(BYTES_MAX)
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


ONE_COLUMN: Final = "\x1e"
"""The delimiter to use for text that has none, so that each line is one cell."""


def read_delimited(name: str, data: bytes, delimiter: str = "", cells_max: int = CELLS_MAX) -> Sheet:
    """Return the cells of delimited text. `delimiter` is what the file extension suggests. Raises `UnreadableTable`."""
    decoded = decode_table(data)
    text = decoded.text.replace("\0", "").rstrip(END_OF_FILE)
    told = _SEP_LINE.match(text)
    text = text[told.end() :] if told else text.lstrip("\ufeff")
    form = find_form(text, told[1] if told else delimiter)
    rows, left_out, note = parse_rows(text, form, cells_max)
    sheet = Sheet(name, rows, decimal_comma=form.delimiter == ";", first_number=2 if told else 1)
    sheet.encoding, sheet.delimiter = decoded.encoding, "" if form.delimiter == ONE_COLUMN else form.delimiter
    sheet.rows_left_out = left_out
    sheet.notes = encoding_notes(decoded, data) + ([note] if note else [])
    return sheet


def encoding_notes(decoded: DecodedText, data: bytes) -> list[str]:
    """Return sentences about what is uncertain in a file's encoding."""
    notes = [f"The encoding is a guess: {decoded.encoding}."] if decoded.guessed else []
    if b"\0" in data and decoded.encoding[:6] not in ("utf-16", "utf-32") and data.strip(b"\0").count(0):
        notes.append("The file has zero bytes in its text. They are left out.")
    if "\ufffd" in decoded.text and b"\xef\xbf\xbd" not in data:
        notes.append(f"Some bytes are not valid {decoded.encoding}. They are shown as \ufffd.")
    return notes


def decode_table(data: bytes) -> DecodedText:
    """Decode the text of a table. Raises `UnreadableTable` if the bytes are not text."""
    found = decode(data.removesuffix(b"\x1a"), cut=False)
    if found is None and b"\0" in data:
        # Zero bytes in text are errors of the program that wrote it. Binary files also have control characters.
        rest = data.replace(b"\0", b"")
        found = decode(rest, cut=False) if len(rest) * 2 > len(data) and not _CONTROLS.search(rest) else None
    if found is None:
        raise UnreadableTable("The file is empty." if not data.strip(b"\0\x1a") else "The file is not text.")
    return found


def mark_texts(cell: str) -> Cell:
    """Convert a cell such as `="00123"` to a `MarkedText`, because exports mark texts that look like numbers in this
    way. Return other cells unchanged."""
    if cell[:2] == '="' and (found := _MARKED.fullmatch(cell)):
        return MarkedText(found[1])
    return cell


def parse_rows(text: str, form: CsvForm, cells_max: int = CELLS_MAX) -> tuple[list[Sequence[Cell]], int, str]:
    """Return the rows up to about `cells_max` cells, the number of rows left out, and a note about faulty quotation
    marks.

    Raises `UnreadableTable`.
    """
    escaped = form._replace(escape=True)
    try:
        with contextlib.suppress(csv.Error):
            return *_rows(text, form, cells_max, strict=True), ""
        if "\\" + form.quote in text:
            with contextlib.suppress(csv.Error):
                return *_rows(text, escaped, cells_max, strict=True), ""
        if _is_unclosed(text, form):
            note = "A quotation mark is never closed, so quotation marks are read as text."
            return *_rows(text, form._replace(quoting=False), cells_max), note
        return *_rows(text, form, cells_max), "Quotation marks within cells are read as text."
    except csv.Error as error:
        raise UnreadableTable(f"The file is not delimited text: {error}.") from None


def _rows(text: str, form: CsvForm, cells_max: int, strict: bool = False) -> tuple[list[Sequence[Cell]], int]:
    reader = form.reader(io.StringIO(text, newline=""), strict)
    rows: list[Sequence[Cell]] = []
    room = cells_max
    marked = '="' in text
    while room > 0 and (some := list(islice(reader, 10_000))):
        rows += [list(map(mark_texts, row)) for row in some] if marked else some
        room -= sum(map(len, some))
    return rows, sum(1 for _ in reader) if room <= 0 else 0


def _is_unclosed(text: str, form: CsvForm) -> bool:
    """Return True if a quotation mark is never closed, so that the last cell would contain all further lines."""
    rows, _ = _rows(text + form.delimiter, form, CELLS_MAX)
    return bool(rows) and rows[-1][-1:] != [""]


def find_form(text: str, delimiter: str = "") -> CsvForm:
    """Return the format of a delimited text, judged by its beginning. `delimiter` is used if it occurs there."""
    sample = text[:_SAMPLE_CHARS]
    if len(text) > len(sample):
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    delimiter = delimiter if delimiter and delimiter in sample else _find_delimiter(sample)
    form = CsvForm(delimiter, f'{delimiter} "' in sample)
    if "'" in sample and '"' not in sample and _is_quoted_singly(sample, delimiter):
        return form._replace(quote="'")
    return form


def _is_quoted_singly(sample: str, delimiter: str) -> bool:
    """Return True if every line except perhaps the first has cells in apostrophes."""
    lines = [line for line in sample.splitlines() if line.strip()][:_SAMPLE_ROWS]
    end = re.escape(delimiter)
    quoted = re.compile(rf"(?:^|{end})\s*'[^'\n]*'\s*(?={end}|$)")
    return len(lines) > 1 and all(quoted.search(line) for line in lines[1:])


def _find_delimiter(sample: str) -> str:
    """Return the delimiter that divides most rows into the same number of cells, or `ONE_COLUMN` if none does."""
    lines = [line for line in io.StringIO(sample, newline="") if line.strip() and not is_separator([line])]
    if not lines:
        return ONE_COLUMN
    # Skip comment lines above the table, because they have no delimiter.
    comments = next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)
    lines = lines[comments:]
    scores = {mark: _score(lines, mark) for mark in _DELIMITERS if mark in sample}
    scores |= {mark: _score(lines, mark, every=True) for mark in _RARE_DELIMITERS if mark in sample}
    scores = {mark: score for mark, score in scores.items() if score[0] > 0 and not _is_prose(lines, mark)}
    best = max(scores, key=lambda mark: scores[mark], default=ONE_COLUMN)
    if best == ",":
        others = [mark for mark in ";\t|" if mark in scores and _divides_beside_commas(lines, mark)]
        best = max(others, key=lambda mark: scores[mark], default=best)
    return best


def _is_prose(lines: Sequence[str], mark: str) -> bool:
    """Return True if `mark` does not divide cells.

    That is the case if less than half of the lines have it, if it occurs only in quoted cells, or if it is punctuation:
    absent from the first line and always followed by a space.
    """
    inside = [line.rstrip("\r\n") for line in lines if mark in line]
    divided = [row for row in csv.reader(lines, delimiter=mark) if row]
    few = sum(1 for row in divided if len(row) > 1) * 2 < len(divided)
    spaced = mark in ",;" and mark not in lines[0] and all(re.search(mark + r"\s", line) for line in inside)
    quoted_only = all(len(row) == 1 for row in divided)
    return few or spaced or quoted_only


def _divides_beside_commas(lines: Sequence[str], mark: str) -> bool:
    """Return True if `mark` is the delimiter although commas divide the lines more evenly, because the commas belong to
    numbers or titles."""
    at = [number for number, line in enumerate(lines) if mark in line]
    with_comma = sum("," in line for line in lines)
    if len(at) > with_comma:
        # An example: in `Blue;Hall 1;2,5`, the decimal comma divides most lines evenly, and its cells include more
        # numbers.
        return not any(_NO_CELL_COMMA.search(line) for line in lines)
    # An example: a title with two commas, a header without commas, and rows such as `Blue\t1,000\t20,000.00`.
    return 2 * len(at) > with_comma and "," not in lines[at[0]] and at[-1] - at[0] + 1 == len(at)


def _score(lines: Sequence[str], delimiter: str, every: bool = False) -> tuple[float, int]:
    """Return a score for how evenly a delimiter divides lines, and the most common number of cells per line ("width").

    The score is the share of lines with that width. It is up to twice as high if cells in these lines are numbers,
    dates or empty. With `every`, the score is 0 unless all lines have that width.
    """
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
    plain = sum(map(_is_value, cells))
    return (rows / len(found) * (1 + plain / len(cells)), width)


def _is_value(cell: str) -> bool:
    """Return True if a cell is empty, a number or a date."""
    if is_empty(cell):
        return True
    if not any(map(str.isdigit, cell)):
        return False
    return any(read_number(cell, mark) is not None for mark in ".,") or is_date(cell)
