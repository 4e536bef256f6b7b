"""The process that decodes possibly hostile files (docs/decisions/10): `python -m ...child`.

For each input line `[decoder, path]` in JSON, the process prints a line with the answer or `{"error": ...}` in JSON.
Each decoder imports its library when called, so the process loads only the libraries that it needs.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

    from agentsvc_nb.documents.tables.model import ReadColumn, ReadTable
    from agentsvc_nb.documents.tables.results import ResultColumn


class CannotDecode(Exception):
    """Raised when a decoder refuses a file. The message is a sentence."""


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(_decode(*json.loads(line))), flush=True)


def _decode(decoder: str, path: str) -> dict[str, Any]:
    try:
        return _DECODERS[decoder](path)
    except CannotDecode as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "The preview would need more than 1 GB of memory."}
    except Exception as error:  # decoders raise many types of errors on damaged files
        reason = str(error).replace(path, "file")[:200] or type(error).__name__
        return {"error": f"The file can't be read: it is damaged or has another format ({reason})."}


class Scaling(NamedTuple):
    """The longest edges in pixels and the qualities to try in turn, until a scaled picture has at most `limit`
    bytes."""

    edges: tuple[int, ...]
    limit: int
    qualities: tuple[int, ...] = (80,)


SMALL: Final = Scaling((256,), 70_000)
MEDIUM: Final = Scaling((800, 512, 256), 70_000)
LARGE: Final = Scaling((1_200, 600, 256), 300_000, (85, 60, 30))
PAGE: Final = Scaling((600, 400, 200), 45_000)
PIXELS_MAX: Final = 100_000_000
"""The maximum number of pixels to decode."""
TEXT_CHARS: Final = 100_000
"""The maximum number of characters of all text chunks. If there are more, all chunks are ignored."""
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def read_picture(path: str, scaling: Scaling) -> dict[str, Any]:
    """Return `width`, `height`, `frames`, the text chunks by keyword as `texts`, and a `picture` in base64.

    Raises `CannotDecode` when the picture has too many pixels, and Pillow's errors.
    """
    from PIL import Image, ImageOps

    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    # `PIXELS_MAX` applies instead, because of a JPEG only some of the pixels are decoded.
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path, formats=_FORMATS) as image:
        width, height = image.size
        # Values that are `str` are text chunks of a PNG. Text chunks after the pixels have not been read at this point.
        texts = {name: text for name, text in image.info.items() if isinstance(name, str) and isinstance(text, str)}
        frames = getattr(image, "n_frames", 1)
        image.draft("RGB", (2 * scaling.edges[0], 2 * scaling.edges[0]))  # decode a JPEG at a reduced scale
        if image.width * image.height > PIXELS_MAX:
            raise CannotDecode(f"The picture has {width:,} × {height:,} pixels, which is too large for a preview.")
        coloured = _coloured(image)
        coloured.thumbnail((scaling.edges[0], scaling.edges[0]), reducing_gap=2.0)
        picture = webp(ImageOps.exif_transpose(coloured), scaling)
    texts = texts if sum(map(len, texts.values())) <= TEXT_CHARS else {}
    return {"width": width, "height": height, "frames": frames, "texts": texts, "picture": picture}


def webp(image: Image, scaling: Scaling) -> str:
    """Encode a picture as WebP in base64, at the largest size and best quality within the limit, else at the
    smallest."""
    small = _coloured(image)
    for edge in scaling.edges:
        small.thumbnail((edge, edge))
        for quality in scaling.qualities:
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= scaling.limit:
                return base64.b64encode(out.getvalue()).decode("ascii")
    return base64.b64encode(out.getvalue()).decode("ascii")


def _coloured(image: Image) -> Image:
    """Convert a picture to RGB or RGBA, because palettes and single bits can't be scaled smoothly."""
    wanted = "RGBA" if "A" in image.mode or "transparency" in image.info else "RGB"
    return image if image.mode == wanted else image.convert(wanted)


PAGES: Final = 3
PAGE_TEXT_CHARS: Final = 1_000


def read_pages(path: str) -> dict[str, Any]:
    """Return the number of pages as `count`, and the first three as `pages`: a `picture` in base64 and its `text`.

    Raises `CannotDecode` when the file is damaged, empty or needs a password, and the errors of PDFium.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise CannotDecode(
            "The file needs a password." if "assword" in str(error) else f"The file is damaged: {error}"
        ) from None
    if not (count := len(document)):
        raise CannotDecode("The document has no pages.")
    pages = []
    for number in range(min(count, PAGES)):
        page = document[number]
        picture = page.render(scale=PAGE.edges[0] / max(*page.get_size(), 1.0), may_draw_forms=False).to_pil()
        text = page.get_textpage().get_text_bounded()[:PAGE_TEXT_CHARS]
        pages.append({"picture": webp(picture, PAGE), "text": text})
    return {"count": count, "pages": pages}


DOCUMENT_CHARS: Final = 12_000
"""The number of characters of a document to return, which is somewhat more than is shown."""


def read_document(path: str) -> dict[str, Any]:
    """Return the beginning of a Word document or PowerPoint deck as Markdown, its `text`.

    Raises `CannotDecode` when the file has no text, or can't be read within the limits.
    """
    from agentsvc_nb.documents import reading
    from agentsvc_nb.documents.media_types import HEAD_BYTES, guess
    from agentsvc_nb.documents.texts import PAGE_END

    with open(path, "rb") as file:
        media_type = guess(Path(path).name, file.read(HEAD_BYTES))
    found = reading.read_document(Path(path), media_type, limit=DOCUMENT_CHARS)
    if not found.text:
        raise CannotDecode(found.unreadable)
    return {"text": found.text.replace(PAGE_END, "\n\n")}


ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 200
CELLS_READ: Final = 400_000
"""The maximum number of cells to read from a file whose beginning is shown."""
SHEETS_NAMED: Final = 11


def read_beginning(path: str) -> dict[str, Any]:
    """Return `names`, `types`, `rows`, `sheets`, `notes`, the number of `columns`, and the number of rows as `count`.

    Raises `CannotDecode` when the file can't be read, or has no table.
    """
    tables = _tables(path, CELLS_READ)
    first = tables[0]
    shown = first.columns[:COLUMNS]
    read = (
        [f"Only the first {first.rows:,} rows were used to detect the columns."]
        if first.rows_left_out and first.notes
        else []
    )
    return {
        "names": [column.name[:CELL_CHARS] for column in shown],
        "types": [f"{column.kind} {column.unit}".strip() for column in shown],
        "rows": [[_cell(column, at)[:CELL_CHARS] for column in shown] for at in range(min(ROWS, first.rows))],
        "sheets": [table.name[:CELL_CHARS] for table in tables[:SHEETS_NAMED]],
        "notes": [*read, *first.notes],
        "columns": len(first.columns) + first.columns_left_out,
        "count": first.rows + first.rows_left_out,
    }


def read_whole(path: str) -> dict[str, Any]:
    """Return all `tables`: the name, `csv`, `schema` and `notes` of each.

    Raises `CannotDecode` when the file can't be read, has no table, or has more tables or cells than can be returned.
    """
    from agentsvc_nb.documents.tables.results import CSV, SCHEMA, TABLE_BYTES, Result, ResultTooLong, exported

    tables = []
    for table in _tables(path):
        rows = tuple(zip(*(column.values for column in table.columns), strict=True))
        try:
            files = exported(Result(tuple(map(_column, table.columns)), rows), table.name)
        except ResultTooLong:
            raise CannotDecode(f"The table is larger than the {TABLE_BYTES // 10**6} MB that can be read.") from None
        csv, schema = files[CSV].decode(), files[SCHEMA].decode()
        tables.append({"name": table.name, "csv": csv, "schema": schema, "notes": list(table.notes)})
    return {"tables": tables}


def _tables(path: str, *cells_max: int) -> list[ReadTable]:
    from agentsvc_nb.documents.tables.model import UnreadableTable
    from agentsvc_nb.documents.tables.reading import read_tables

    try:
        found = read_tables(Path(path).name, "", Path(path), *cells_max)
    except UnreadableTable as error:
        raise CannotDecode(str(error)) from None
    if not found:
        raise CannotDecode("The table has no rows.")
    return found


def _column(column: ReadColumn) -> ResultColumn:
    from agentsvc_nb.documents.tables.results import ResultColumn

    by = column.unit if column.kind == "date" else ""
    return ResultColumn(column.name, column.kind, "" if by else column.unit, column.decimals, by=by)


def _cell(column: ReadColumn, row: int) -> str:
    """Return the value of a cell, or the cell's text if it has no value."""
    from agentsvc_nb.documents.tables.model import text_of
    from agentsvc_nb.documents.tables.results import plain

    value = column.values[row]
    return text_of(column.cells[row]) if value is None else plain(value, _column(column))


_DECODERS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "small": lambda path: read_picture(path, SMALL),
    "medium": lambda path: read_picture(path, MEDIUM),
    "large": lambda path: read_picture(path, LARGE),
    "pages": read_pages,
    "document": read_document,
    "beginning": read_beginning,
    "tables": read_whole,
}


if __name__ == "__main__":
    main()
