"""Pictures of a gallery as data URIs: decoded in processes that look at one after the other, and checked here."""

from __future__ import annotations

import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final

from agentsvc_nb.notebook.previews.figures import PICTURE_CHARS, data_uri
from agentsvc_nb.notebook.previews.kinds import CannotShow
from agentsvc_nb.notebook.previews.process import Decoder

LARGE_CHARS: Final = 400_000
"""Of 300 kB in base64."""


class Thumbnails:
    """Looks at pictures within a `with`. For one thread at a time.

    Example: `with Thumbnails() as looking: uri, texts = looking.small(data)`
    """

    def __enter__(self) -> Thumbnails:
        self._stack = contextlib.ExitStack()
        self._place = Path(self._stack.enter_context(TemporaryDirectory(prefix="agentsvc-pictures-"))) / "whole"
        self._small, self._large = (self._stack.enter_context(Decoder(name)) for name in ("small", "large"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)

    def small(self, data: bytes) -> tuple[str | None, dict[str, Any]]:
        """A data URI of at most 256 pixels an edge, None for what can't be shown; and the texts in the picture."""
        found = self._asked(self._small, data)
        texts = found.get("texts")
        return _uri(found), texts if isinstance(texts, dict) else {}

    def large(self, data: bytes) -> str | None:
        """A data URI of at most 1,200 pixels an edge and 300 kB; None for what can't be shown."""
        return _uri(self._asked(self._large, data), LARGE_CHARS)

    def _asked(self, decoder: Decoder, data: bytes) -> dict[str, Any]:
        self._place.write_bytes(data)
        with contextlib.suppress(CannotShow):  # a missing picture is no failure
            return decoder.asked(self._place)
        return {}


def _uri(found: dict[str, Any], most: int = PICTURE_CHARS) -> str | None:
    with contextlib.suppress(CannotShow):
        return data_uri(found.get("picture"), most)
    return None
