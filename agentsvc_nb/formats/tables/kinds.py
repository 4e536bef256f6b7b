"""Which files may hold tables, by name or media type."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.formats.media_types import OFFICE

ENDINGS: Final = frozenset(
    {
        *(".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".json", ".jsonl", ".ndjson"),
        *(".html", ".htm", ".xhtml", ".md", ".markdown", ".docx", ".parquet", ".pq"),
    }
)
_BY_TYPE: Final = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    OFFICE + "spreadsheetml.sheet": ".xlsx",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    OFFICE + "wordprocessingml.document": ".docx",
    "application/vnd.apache.parquet": ".parquet",
}


def ending_of(name: str, media_type: str) -> str:
    """The ending of the file's format: that of its name, else that of its media type; empty if it has no tables."""
    ending = PurePosixPath(name).suffix.lower()
    return ending if ending in ENDINGS else _BY_TYPE.get(media_type.partition(";")[0].strip().lower(), "")
