"""A file to look at: what is known of it, its first bytes, and a way to the rest, which few kinds need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from agentsvc_nb.notebook.display.amounts import size
from agentsvc_nb.notebook.previews.decoding import Text, decoded
from agentsvc_nb.wire.files import WorkspaceFile

HEAD_BYTES: Final = 256_000
"""What is read of a file of any size. Text, tables, JSON and pages are shown from these."""
WHOLE_BYTES: Final = 50_000_000
"""Pictures, PDFs, Parquet and Excel need the whole file: up to this size."""

Fetch = Callable[[Path], object]
"""Brings the whole file to this place."""


class CannotShow(Exception):
    """Why there is nothing to see: one sentence."""


@dataclass(frozen=True)
class Subject:
    """`head` is the whole file when there is no `fetch`."""

    file: WorkspaceFile
    head: bytes
    fetch: Fetch | None = None

    @property
    def cut(self) -> bool:
        """Whether the file goes on after `head`."""
        return self.fetch is not None and self.file.size_bytes > len(self.head)

    @property
    def name(self) -> str:
        """What a reader would call it."""
        return self.file.name or self.file.path

    @cached_property
    def text(self) -> Text | None:
        """Its beginning as text; None for what is none."""
        return decoded(self.head, cut=self.cut)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The whole file, for as long as the context lasts. Raises `CannotShow` for one that is too large."""
        if self.cut and self.file.size_bytes > WHOLE_BYTES:
            raise CannotShow(
                f"It has {size(self.file.size_bytes)}, and a file of this kind is looked at up to {size(WHOLE_BYTES)}."
            )
        with TemporaryDirectory(prefix="agentsvc-preview-") as folder:
            place = Path(folder) / "whole"
            if self.cut and self.fetch:
                self.fetch(place)
            else:
                place.write_bytes(self.head)
            yield place
