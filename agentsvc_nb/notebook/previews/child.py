"""The process that decodes files which may be hostile (docs/decisions/0022): `python -m ...child DECODER`.

For each line with a path as JSON, it prints a line with the answer or `{"error": ...}` as JSON. Decoders are Pillow for
pictures, PDFium for pages of PDFs, `documents.reading` for Word and PowerPoint, and for tables the one reader
(docs/decisions/0050-where-tables-are-read.md); each is imported by its function, so only what is needed is loaded, and
after the limits are set.
"""

from __future__ import annotations

import base64
import io
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.memory import limit_memory

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage

    from agentsvc_nb.documents.tables.model import ReadColumn, ReadTable
    from agentsvc_nb.documents.tables.results import ResultColumn


class CannotDecode(Exception):
    """Raised when a decoder refuses a file. The message is the end of a sentence, such as "it has no pages."."""


CPU_SECONDS: Final = 10
MEMORY_BYTES: Final = 2**30


def main() -> None:
    _limit()
    decoder = _DECODERS[sys.argv[1]]
    for line in sys.stdin:
        _limit_processor()
        print(json.dumps(_decode(decoder, json.loads(line))), flush=True)


def _decode(decoder: Callable[[str], dict[str, Any]], path: str) -> dict[str, Any]:
    try:
        found = decoder(path)
    except CannotDecode as error:
        found = {"error": str(error)}
    except MemoryError:
        found = {"error": f"it needs more than {MEMORY_BYTES / 2**30:.0f} GB of memory to be looked at."}
    except Exception as error:  # decoders raise many types of errors on damaged files
        reason = str(error).replace(path, "file")[:200] or type(error).__name__
        found = {"error": f"it can't be read, so it is damaged or something else ({reason})."}
    return found


def _limit() -> None:
    limit_memory(MEMORY_BYTES)
    if sys.platform != "win32":  # it has no such limits: there the parent's time limit is the only one
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # the process writes no files
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_processor() -> None:
    """Allow `CPU_SECONDS` for the next file."""
    if sys.platform != "win32":
        import resource

        soft, hard = math.ceil(time.process_time()) + CPU_SECONDS, resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


# The edges are tried in this order, in pixels, until the picture has at most the number of bytes.
EDGES: Final = (800, 512, 256)
PICTURE_BYTES: Final = 70_000
LARGE_EDGES: Final = (1_200, 600, 256)
LARGE_BYTES: Final = 300_000
LARGE_QUALITIES: Final = (85, 60, 30)
SMALL_EDGE: Final = 256
TEXT_CHARS: Final = 100_000
"""The most characters of text chunks; longer ones are all ignored."""
PIXELS_MAX: Final = 100_000_000
"""The most pixels that are decoded."""
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def read_picture(path: str) -> dict[str, Any]:
    """Return `width`, `height`, `frames`, and a preview as a `picture` in base64.

    Raises `CannotDecode` when it has too many pixels, and Pillow's errors.
    """
    with _opened(path) as image:
        found = {"width": image.width, "height": image.height, "frames": getattr(image, "n_frames", 1)}
        return found | {"picture": webp(_shrunk(image, EDGES[0]))}


def read_small(path: str) -> dict[str, Any]:
    """Return a thumbnail as a `picture` in base64, and text chunks by keyword as `texts`. Raises as `read_picture`."""
    with _opened(path) as image:
        # Values that are `str` are text chunks of a PNG. Those after its pixels have not been read at this point.
        texts = {name: text for name, text in image.info.items() if isinstance(name, str) and isinstance(text, str)}
        picture = webp(_shrunk(image, SMALL_EDGE), (SMALL_EDGE,))
    return {"picture": picture, "texts": texts if sum(map(len, texts.values())) <= TEXT_CHARS else {}}


def read_large(path: str) -> dict[str, Any]:
    """Return a large view as a `picture` in base64. Raises as `read_picture`."""
    with _opened(path) as image:
        return {"picture": webp(_shrunk(image, LARGE_EDGES[0]), LARGE_EDGES, LARGE_BYTES, LARGE_QUALITIES)}


@contextmanager
def _opened(path: str) -> Iterator[Image]:
    """Open a picture without decoding its pixels."""
    from PIL import Image

    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    # `_shrunk` limits the pixels that are decoded instead: of a JPEG, these may be an eighth of each edge.
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path, formats=_FORMATS) as image:
        yield image


def _shrunk(image: Image, edge: int) -> Image:
    """Return a copy of at most `edge` pixels an edge. Raises `CannotDecode` when it has too many pixels."""
    from PIL import ImageOps

    width, height = image.size
    image.draft("RGB", (2 * edge, 2 * edge))  # decode a JPEG at a reduced scale; other formats ignore this
    if image.width * image.height > PIXELS_MAX:
        raise CannotDecode(f"it has {width:,} × {height:,} pixels, too many to be looked at here.")
    coloured = _coloured(image)
    coloured.thumbnail((edge, edge), reducing_gap=2.0)
    return ImageOps.exif_transpose(coloured)


def webp(
    image: Image, edges: Sequence[int] = EDGES, limit: int = PICTURE_BYTES, qualities: Sequence[int] = (80,)
) -> str:
    """Encode a picture as WebP in base64: the largest size and best quality of at most `limit` bytes.

    If none is small enough, the smallest size in the lowest quality.
    """
    small = _coloured(image)
    for edge in edges:
        small.thumbnail((edge, edge))
        for quality in qualities:
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= limit:
                return base64.b64encode(out.getvalue()).decode("ascii")
    return base64.b64encode(out.getvalue()).decode("ascii")


def _coloured(image: Image) -> Image:
    """Convert a picture to RGB or RGBA, because palettes and single bits can't be scaled smoothly."""
    wanted = "RGBA" if "A" in image.mode or "transparency" in image.info else "RGB"
    return image if image.mode == wanted else image.convert(wanted)


PAGES: Final = 3
PAGE_EDGES: Final = (600, 400, 200)
PAGE_PICTURE_BYTES: Final = 45_000
PAGE_TEXT_CHARS: Final = 1_000


def read_pages(path: str) -> dict[str, Any]:
    """Return the number of pages as `count`, and the first three as `pages`: a `picture` in base64 and its `text`.

    Raises `CannotDecode` when the file is damaged, empty or needs a password, and the errors of PDFium.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise CannotDecode("it needs a password." if "assword" in str(error) else f"it is damaged: {error}") from None
    count = len(document)
    if not count:
        raise CannotDecode("it has no pages.")
    return {"count": count, "pages": [_read_page(document[number]) for number in range(min(count, PAGES))]}


def _read_page(page: PdfPage) -> dict[str, str]:
    scale = PAGE_EDGES[0] / max(*page.get_size(), 1.0)
    picture = page.render(scale=scale, may_draw_forms=False).to_pil()
    text = page.get_textpage().get_text_bounded()[:PAGE_TEXT_CHARS]
    return {"picture": webp(picture, PAGE_EDGES, PAGE_PICTURE_BYTES), "text": text}


DOCUMENT_CHARS: Final = 12_000
"""How much of a document is handed on, some more than is shown."""


def read_document(path: str) -> dict[str, Any]:
    """Return the beginning of a Word document or PowerPoint deck as Markdown, its `text`.

    Raises `CannotDecode` when it has none, or can't be read within bounds.
    """
    from agentsvc_nb.documents import reading
    from agentsvc_nb.documents.media_types import HEAD_BYTES, guess
    from agentsvc_nb.documents.texts import PAGE_END

    with open(path, "rb") as file:
        media_type = guess(Path(path).name, file.read(HEAD_BYTES))
    found = reading.read_document(Path(path), media_type, limit=DOCUMENT_CHARS)
    if not found.text:
        raise CannotDecode(found.unreadable[:1].lower() + found.unreadable[1:])
    return {"text": found.text.replace(PAGE_END, "\n\n")}


ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 200
CELLS_READ: Final = 400_000
"""Of a file of which only the beginning is shown."""
NAMED: Final = 10
"""Further tables of the file whose names are told."""


def read_beginning(path: str) -> dict[str, Any]:
    """Return `names`, `types`, `rows`, `sheets`, `notes`, the number of `columns`, and the number of rows as `count`.

    Raises `CannotDecode` when the file can't be read, or has no table.
    """
    first, *others = _tables(path, CELLS_READ)
    shown = first.columns[:COLUMNS]
    beyond = first.rows_left_out
    told = list(first.notes)
    rows = range(min(ROWS, first.rows))
    return {
        "names": [column.name[:CELL_CHARS] for column in shown],
        "types": [f"{column.kind} {column.unit}".strip() for column in shown],
        "rows": [[_cell(column, at)[:CELL_CHARS] for column in shown] for at in rows],
        "sheets": [table.name[:CELL_CHARS] for table in (first, *others[:NAMED])],
        "notes": [f"Read by its first {first.rows:,} rows.", *told] if beyond and told else told,
        "columns": len(first.columns) + first.columns_left_out,
        "count": first.rows + beyond,
    }


def read_whole(path: str) -> dict[str, Any]:
    """Return all `tables`: the name, `csv`, `schema` and `notes` of each.

    Raises `CannotDecode` when the file can't be read, has no table, or more than is handed on.
    """
    return {"tables": [_exported(table) for table in _tables(path)]}


def _tables(path: str, *cells_max: int) -> list[ReadTable]:
    from agentsvc_nb.documents.tables.model import UnreadableTable
    from agentsvc_nb.documents.tables.reading import read_tables

    try:
        found = read_tables(Path(path).name, "", Path(path), *cells_max)
    except UnreadableTable as error:
        raise CannotDecode(str(error)) from None
    if not found:
        raise CannotDecode("It has no rows.")
    return found


def _exported(table: ReadTable) -> dict[str, Any]:
    from agentsvc_nb.documents.tables.results import CSV, SCHEMA, TABLE_BYTES, Result, ResultTooLong, exported

    rows = tuple(zip(*(column.values for column in table.columns), strict=True))
    try:
        files = exported(Result(tuple(map(_column, table.columns)), rows), table.name)
    except ResultTooLong:
        raise CannotDecode(f"It has more rows than the {TABLE_BYTES // 10**6} MB that are read here.") from None
    csv, schema = files[CSV].decode(), files[SCHEMA].decode()
    return {"name": table.name, "csv": csv, "schema": schema, "notes": list(table.notes)}


def _column(column: ReadColumn) -> ResultColumn:
    from agentsvc_nb.documents.tables.results import ResultColumn

    by = column.unit if column.kind == "date" else ""
    return ResultColumn(column.name, column.kind, "" if by else column.unit, column.decimals, by=by)


def _cell(column: ReadColumn, row: int) -> str:
    """The value as it was read; where there is none, the cell as it stands."""
    from agentsvc_nb.documents.tables.model import text_of
    from agentsvc_nb.documents.tables.results import plain

    value = column.values[row]
    return text_of(column.cells[row]) if value is None else plain(value, _column(column))


_DECODERS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "pictures": read_picture,
    "small": read_small,
    "large": read_large,
    "pages": read_pages,
    "documents": read_document,
    "beginning": read_beginning,
    "tables": read_whole,
}


if __name__ == "__main__":
    main()
