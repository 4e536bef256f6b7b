"""Read the sheets of workbooks: Excel (old and new) and OpenDocument with calamine, Excel 2003 XML with lxml.

calamine returns values, merged areas and which sheets are hidden. For .xlsx files, we read error values, formulas
without a result, and number formats that change a cell's meaning (`12.5%`, `00123`) from the XML.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.tables.model import (
    BYTES_MAX,
    CELLS_MAX,
    TABLES_MAX,
    Cell,
    MarkedText,
    Sheet,
    UnreadableTable,
    summarize,
)

if TYPE_CHECKING:
    from lxml.etree import XMLParser

UNPACKED_MAX: Final = 4 * BYTES_MAX
_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_XML_2003: Final = "{urn:schemas-microsoft-com:office:spreadsheet}"
_NAMED_MAX: Final = 5


def check_unpacked_size(data: bytes) -> None:
    """Raise `UnreadableTable` if a ZIP file declares that it unpacks to too many bytes (a "zip bomb").

    If the file declares fewer bytes than it has, the limits of the process stop the unpacking.
    """
    packed = io.BytesIO(data)
    if zipfile.is_zipfile(packed):
        with zipfile.ZipFile(packed) as parts:
            if sum(part.file_size for part in parts.infolist()) > UNPACKED_MAX:
                raise UnreadableTable(f"The workbook unpacks to more than {UNPACKED_MAX // 10**6} MB.")


def read_workbook(data: bytes, cells_max: int = CELLS_MAX) -> list[Sheet]:
    """Read the visible sheets, together up to `cells_max` cells. Raises `UnreadableTable`."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    check_unpacked_size(data)
    found: list[Sheet] = []
    room = cells_max
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        about = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
        hidden = [one.name for one in about if one.visible != SheetVisibleEnum.Visible]
        shown = [one.name for one in about if one.name not in hidden] or hidden
        marks = _read_marks(data, set(shown))
        for name in shown:
            if len(found) > TABLES_MAX:
                break
            page = book.get_sheet_by_name(name)
            if page.end is None:
                continue
            height, width = page.end[0] + 1, page.end[1] + 1
            cells = page.to_python(skip_empty_area=False, nrows=max(1, min(height, room // width)))
            rows = [list(map(_plain_cell, row)) for row in cells]
            room -= len(rows) * width
            sheet = Sheet(name, [*rows], blank_rows_divide=True, merged_filled=True)
            sheet.rows_left_out = height - len(rows)
            if name in marks:
                sheet.notes = marks[name].apply(rows)
                sheet.hidden_rows = frozenset(marks[name].hidden_rows)
            _fill_merged(rows, page.merged_cell_ranges or ())
            found.append(sheet)
    except CalamineError as error:
        raise UnreadableTable(f"The workbook can't be read: {summarize(error)}.") from None
    if hidden and shown != hidden:
        named = ", ".join(hidden[:_NAMED_MAX]) + (", ..." if len(hidden) > _NAMED_MAX else "")
        for sheet in found:
            sheet.notes.append(f"Hidden sheets are left out: {named}.")
    return found


def _plain_cell(cell: Any) -> Cell:
    """Return None for an empty cell. Round numbers to the fifteen digits that workbooks store."""
    if isinstance(cell, float):
        if cell.is_integer():
            return int(cell) if abs(cell) <= 2**53 else cell
        return float(f"{cell:.15g}")
    return None if cell == "" else cell


def _fill_merged(rows: Sequence[list[Cell]], merged: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Copy the value of each merged area to all its cells, in place."""
    for (top, left), (bottom, right) in merged:
        for row in rows[top : bottom + 1]:
            for at in range(left, min(right + 1, len(row))):
                row[at] = rows[top][left]


@dataclass(slots=True)
class _Marks:
    """Holds what calamine does not return: number formats, errors, formulas without a result, and hidden rows."""

    formats: dict[tuple[int, int], str] = field(default_factory=dict)
    errors: dict[tuple[int, int], str] = field(default_factory=dict)
    without_result: list[tuple[int, int]] = field(default_factory=list)
    hidden_rows: list[int] = field(default_factory=list)
    """The numbers of rows that a filter hides."""

    def apply(self, rows: Sequence[list[Cell]]) -> list[str]:
        """Apply number formats and errors to the cells in place, and return notes about formulas without a result."""
        for (row, column), code in self.formats.items():
            if row < len(rows) and column < len(rows[row]):
                cell = rows[row][column]
                if isinstance(cell, int | float) and not isinstance(cell, bool):
                    rows[row][column] = _format_number(cell, code)
        for (row, column), error in self.errors.items():
            if row < len(rows) and column < len(rows[row]):
                rows[row][column] = error
        if not self.without_result:
            return []
        places = [f"{_column_letters(column)}{row + 1}" for row, column in self.without_result[:_NAMED_MAX]]
        more = ", ..." if len(self.without_result) > _NAMED_MAX else ""
        return [
            f"{len(self.without_result):,} formulas have no stored result, so their cells are empty:"
            f" {', '.join(places)}{more}. Open the file in a spreadsheet program and save it."
        ]


def _format_number(number: float, code: str) -> Cell:
    """Return a number as its cell shows it by the format `code`: as a percentage, or padded with zeros."""
    if "%" in code:
        return f"{(Decimal(repr(number)) * 100).normalize():f}%"
    text = str(int(number)).zfill(len(code))
    return MarkedText(text) if number == int(number) else number


def _column_letters(at: int) -> str:
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _xml_parser() -> XMLParser:
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def _read_marks(data: bytes, names: set[str]) -> dict[str, _Marks]:
    """Return the marks in an .xlsx file, by sheet name. Sheets without marks or after a damaged part are missing."""
    from lxml import etree

    if data[:2] != b"PK":
        return {}
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            if "xl/workbook.xml" not in parts.namelist():
                return {}
            formats = _percent_and_padded_styles(parts)
            for name, path in _sheet_paths(parts):
                if name in names:
                    xml = parts.read(path)
                    # Parse the XML only if needed, because parsing a large sheet takes long, and most sheets have no
                    # such cells.
                    if formats or b't="e"' in xml or b"<f" in xml or b"<filterColumn" in xml:
                        found[name] = _sheet_marks(xml, formats)
    except (zipfile.BadZipFile, KeyError, ValueError, etree.XMLSyntaxError):
        return found
    return found


def _sheet_paths(parts: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    from lxml import etree

    book = etree.fromstring(parts.read("xl/workbook.xml"), _xml_parser())
    relations = etree.fromstring(parts.read("xl/_rels/workbook.xml.rels"), _xml_parser())
    targets = {str(one.get("Id")): str(one.get("Target", "")) for one in relations}
    for sheet in book.iter(_MAIN + "sheet"):
        target = targets.get(str(sheet.get(_RELATION)), "")
        yield str(sheet.get("name", "")), target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _percent_and_padded_styles(parts: zipfile.ZipFile) -> Mapping[str, str]:
    """Return the number formats of the styles that show percentages or pad numbers with zeros, by style number."""
    from lxml import etree

    if "xl/styles.xml" not in parts.namelist():
        return {}
    styles = etree.fromstring(parts.read("xl/styles.xml"), _xml_parser())
    codes = {"9": "0%", "10": "0.00%"}
    codes |= {str(one.get("numFmtId")): str(one.get("formatCode")) for one in styles.iter(_MAIN + "numFmt")}
    used = [codes.get(str(one.get("numFmtId")), "") for one in styles.findall(f"{_MAIN}cellXfs/{_MAIN}xf")]
    return {str(at): code for at, code in enumerate(used) if "%" in code or re.fullmatch("00+", code)}


def _sheet_marks(xml: bytes, formats: Mapping[str, str]) -> _Marks:
    from lxml import etree

    marks = _Marks()
    is_filtered = b"<filterColumn" in xml
    row = column = -1
    cells = etree.iterparse(
        io.BytesIO(xml), tag=(_MAIN + "c", _MAIN + "row"), resolve_entities=False, no_network=True, load_dtd=False
    )
    for _, cell in cells:
        if cell.tag == _MAIN + "row":
            if is_filtered and cell.get("hidden") in ("1", "true") and cell.get("r", "").isdecimal():
                marks.hidden_rows.append(int(cell.get("r", "")))
            cell.clear()
            continue
        if place := re.fullmatch(r"([A-Z]{1,3})(\d{1,7})", cell.get("r", "")):
            row, column = int(place[2]) - 1, 0
            for letter in place[1]:
                column = column * 26 + ord(letter) - 64
            column -= 1
        else:
            continue
        value = cell.findtext(_MAIN + "v")
        if cell.get("t") == "e":
            marks.errors[row, column] = value or "#N/A"
        elif not value and cell.find(_MAIN + "f") is not None and cell.get("t") != "str":
            marks.without_result.append((row, column))
        if code := formats.get(str(cell.get("s"))):
            marks.formats[row, column] = code
    return marks


def read_excel_xml(data: bytes, cells_max: int = CELLS_MAX) -> list[Sheet]:
    """Read a workbook in the XML of Excel 2003. Raises `UnreadableTable`."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    root = etree.fromstring(data.strip(), parser)
    if root is None:
        raise UnreadableTable("The workbook's XML is damaged.")
    found = []
    room = cells_max
    for page in root.iter(_XML_2003 + "Worksheet"):
        sheet = Sheet(str(page.get(_XML_2003 + "Name", "")), [], blank_rows_divide=True, merged_filled=True)
        for line in page.iter(_XML_2003 + "Row"):
            index = str(line.get(_XML_2003 + "Index", ""))
            if index.isdigit() and len(sheet.rows) < int(index) - 1 < 1_048_576:
                sheet.rows += [[]] * (int(index) - 1 - len(sheet.rows))
            cells = _excel_xml_cells(line) if room > 0 else []
            room -= len(cells)
            if room > 0 or cells:
                sheet.rows.append(cells)
            else:
                sheet.rows_left_out += 1
        found.append(sheet)
    return found


def _excel_xml_cells(line: Any) -> list[Cell]:
    cells: list[Cell] = []
    for cell in line.iter(_XML_2003 + "Cell"):
        index, across = cell.get(_XML_2003 + "Index", ""), cell.get(_XML_2003 + "MergeAcross", "")
        if index.isdigit() and len(cells) < int(index) - 1 < 16_384:
            cells += [None] * (int(index) - 1 - len(cells))
        value = cell.find(_XML_2003 + "Data")
        text = "" if value is None else "".join(value.itertext())
        kind = "" if value is None else value.get(_XML_2003 + "Type", "")
        made: Cell = text or None
        if kind == "Number" and re.fullmatch(r"-?\d{1,40}(\.\d{1,40})?([eE][-+]?\d{1,3})?", text):
            made = Decimal(text)
        elif kind == "Boolean":
            made = text == "1"
        elif kind == "DateTime":
            made = text.removesuffix(".000").removesuffix("T00:00:00")
        cells += [made] * (1 + (min(int(across), 200) if across.isdigit() else 0))
    return cells
