"""Name the kinds of files in words, such as `Excel workbook`, for people who do not know media types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_KINDS: Final[Mapping[str, str]] = {
    "application/json": "JSON",
    "application/pdf": "PDF",
    "application/vnd.apache.parquet": "Parquet table",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint deck",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel workbook",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word document",
    "application/zip": "ZIP archive",
    "image/gif": "GIF picture",
    "image/jpeg": "JPEG picture",
    "image/png": "PNG picture",
    "image/svg+xml": "SVG drawing",
    "image/webp": "WebP picture",
    "text/csv": "CSV table",
    "text/html": "HTML page",
    "text/markdown": "Markdown",
    "text/plain": "text",
}
_FAMILIES: Final = {"audio": "sound", "image": "picture", "text": "text", "video": "video"}


def kind_name(media_type: str, file_name: str) -> str:
    """Return the name of a file's kind, from its media type or else its name.

    >>> kind_name("text/csv", "a.csv"), kind_name("application/octet-stream", "a.bin"), kind_name("video/mp4", "a")
    ('CSV table', 'BIN file', 'video')
    """
    ending = file_name.rpartition(".")[2]
    other = f"{ending.upper()} file" if "." in file_name and ending.isalnum() and len(ending) <= 5 else "file"
    return _KINDS.get(media_type) or _FAMILIES.get(media_type.partition("/")[0], other)
