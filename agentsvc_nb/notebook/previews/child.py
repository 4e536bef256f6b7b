"""The program that decodes files, which may be hostile (docs/decisions/10). `decoding` runs it as a child process.

Each input line is `[decoder, path]` in JSON. For each, the program prints one line in JSON: the decoder's result, or
`{"error": ...}`. A decoder imports its library when it is called, so that only necessary libraries are loaded.
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
    """A decoder could not decode a file. The message is a sentence for the user."""


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
    except Exception as error:  # for damaged files, the libraries raise many types of errors
        reason = str(error).replace(path, "file")[:200] or type(error).__name__
        return {"error": f"The file can't be read: it is damaged or has another format ({reason})."}


class Scaling(NamedTuple):
    """How to scale a picture down: the edges (in pixels) and qualities to try in turn, for at most `limit` bytes."""

    edges: tuple[int, ...]
    limit: int
    qualities: tuple[int, ...] = (80,)


SMALL: Final = Scaling((256,), 70_000)
MEDIUM: Final = Scaling((800, 512, 256), 70_000)
LARGE: Final = Scaling((1_200, 600, 256), 300_000, (85, 60, 30))
PAGE: Final = Scaling((600, 400, 200), 45_000)
PIXELS_MAX: Final = 100_000_000
"""The maximum number of pixels of a picture that is decoded."""
TEXT_CHARS: Final = 100_000
"""The maximum total length of a picture's text chunks. If they are longer, all are ignored."""
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def read_picture(path: str, scaling: Scaling) -> dict[str, Any]:
    """Decode a picture. The result has these keys:

    - `width`, `height`: the size of the picture in pixels.
    - `frames`: the number of frames.
    - `texts`: the picture's text chunks by keyword.
    - `picture`: the scaled picture in base64.

    Raises `CannotDecode` when the picture has too many pixels. Also raises Pillow's errors.
    """
    from PIL import Image, ImageOps

    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    # `PIXELS_MAX` is checked below instead, after a JPEG was set to a smaller scale.
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path, formats=_FORMATS) as image:
        width, height = image.size
        # Values of type `str` are text chunks of a PNG. Chunks after the pixels have not been read yet.
        texts = {name: text for name, text in image.info.items() if isinstance(name, str) and isinstance(text, str)}
        frames = getattr(image, "n_frames", 1)
        image.draft("RGB", (2 * scaling.edges[0], 2 * scaling.edges[0]))  # decode a JPEG at a smaller scale
        if image.width * image.height > PIXELS_MAX:
            raise CannotDecode(f"The picture has {width:,} × {height:,} pixels, which is too large for a preview.")
        coloured = _to_rgb(image)
        coloured.thumbnail((scaling.edges[0], scaling.edges[0]), reducing_gap=2.0)
        picture = webp(ImageOps.exif_transpose(coloured), scaling)
    texts = texts if sum(map(len, texts.values())) <= TEXT_CHARS else {}
    return {"width": width, "height": height, "frames": frames, "texts": texts, "picture": picture}


def webp(image: Image, scaling: Scaling) -> str:
    """Encode a picture as base64 WebP.

    Try the edges and qualities of `scaling` in turn, until the picture has at most `scaling.limit` bytes. If it is
    always larger, return the last attempt.
    """
    small = _to_rgb(image)
    for edge in scaling.edges:
        small.thumbnail((edge, edge))
        for quality in scaling.qualities:
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= scaling.limit:
                return base64.b64encode(out.getvalue()).decode("ascii")
    return base64.b64encode(out.getvalue()).decode("ascii")


def _to_rgb(image: Image) -> Image:
    """Convert a picture to RGB or RGBA, because other modes can't be scaled smoothly."""
    wanted = "RGBA" if "A" in image.mode or "transparency" in image.info else "RGB"
    return image if image.mode == wanted else image.convert(wanted)


PAGES: Final = 3
PAGE_TEXT_CHARS: Final = 1_000


def read_pages(path: str) -> dict[str, Any]:
    """Decode a PDF. The result has these keys:

    - `count`: the number of pages.
    - `pages`: the first three pages, each with its `picture` in base64 and its `text`.

    Raises `CannotDecode` when the file is damaged, has no pages or needs a password. Also raises PDFium's errors.
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
"""How many characters of a document are returned. It is somewhat more than the preview shows."""


def read_document(path: str) -> dict[str, Any]:
    """Return the beginning of a Word document or PowerPoint presentation as Markdown, in `text`.

    Raises `CannotDecode` when the file contains no text, or can't be read within the limits.
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
"""How many cells are read if only the beginning of a file is shown."""
SHEETS_NAMED: Final = 11


def read_beginning(path: str) -> dict[str, Any]:
    """Describe the first table in a file. The result has these keys:

    - `names`, `types`: the names and types of the first columns.
    - `rows`: the first rows, each as a list of texts.
    - `columns`, `count`: how many columns and rows the table has.
    - `sheets`: the names of the first tables in the file.
    - `notes`: sentences about how the table was interpreted.

    Raises `CannotDecode` when the file can't be read, or contains no table.
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
    """Return all tables of a file, as a list under the key `tables`. Each table has these keys:

    - `name`: the name of the table.
    - `csv`: its data as CSV text.
    - `schema`: its schema as JSON text.
    - `notes`: sentences about how the table was interpreted.

    Raises `CannotDecode` when the file can't be read, contains no table, or a table is too large.
    """
    from agentsvc_nb.documents.tables.results import CSV, SCHEMA, TABLE_BYTES, Result, ResultTooLong, export_result

    tables = []
    for table in _tables(path):
        rows = tuple(zip(*(column.values for column in table.columns), strict=True))
        try:
            files = export_result(Result(tuple(map(_column, table.columns)), rows), table.name)
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
    """Return the value in a cell as text. If it has none, return the cell's text in the file."""
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
