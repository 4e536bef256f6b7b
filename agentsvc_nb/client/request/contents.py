"""A user's objects as files: DataFrames, figures and pictures, and a name for bytes that have none.

Nothing is imported to recognise them: who holds a DataFrame has imported pandas.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple


class Content(NamedTuple):
    name: str
    data: bytes


_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image.png"),
    (b"\xff\xd8\xff", "image.jpg"),
    (b"GIF8", "image.gif"),
    (b"%PDF-", "document.pdf"),
)


def drawn(value: object) -> Content | None:
    """A pandas DataFrame or Series as CSV, a matplotlib figure or a PIL picture as PNG; None for anything else."""
    for module, names, name, write in _KINDS:
        loaded = sys.modules.get(module)
        kinds = tuple(kind for kind in (getattr(loaded, each, None) for each in names) if isinstance(kind, type))
        if kinds and isinstance(value, kinds):
            return Content(name, write(value))
    return None


def named(data: bytes) -> Content:
    """Bytes under a name that says what they are."""
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return Content(name, data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Content("image.webp", data)
    return Content("text.txt" if _is_text(data) else "data.bin", data)


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _csv(table: Any) -> bytes:
    # An index that only counts the rows says nothing.
    counts = type(table.index).__name__ == "RangeIndex" and table.index.name is None
    text: str = table.to_csv(index=not counts)
    return text.encode("utf-8")


def _figure(figure: Any) -> bytes:
    drawing = io.BytesIO()
    figure.savefig(drawing, format="png", bbox_inches="tight")
    return drawing.getvalue()


def _picture(picture: Any) -> bytes:
    drawing = io.BytesIO()
    picture.save(drawing, format="PNG")
    return drawing.getvalue()


_KINDS: Final[tuple[tuple[str, tuple[str, ...], str, Callable[[Any], bytes]], ...]] = (
    ("pandas", ("DataFrame", "Series"), "table.csv", _csv),
    ("matplotlib.figure", ("Figure",), "figure.png", _figure),
    ("PIL.Image", ("Image",), "image.png", _picture),
)
