"""The gallery (`%files gallery`, `agentsvc_nb.Gallery()`): a grid, a large view, an edited picture over its original.

Its page is `front/gallery.js`. The parts hold one page of thumbnails and one large view, whatever the chat has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentsvc_nb.notebook.display.file_table import PER_OUTPUT
from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.files.gallery import Pictures, caption
from agentsvc_nb.notebook.widgets.design import SAID_CHARS, Worker
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import label, worded

NO_PICTURE: Final = "This can't be shown as a picture."


class Gallery:
    """The behaviour of the gallery. A lock guards its state; pictures are read in the worker's thread."""

    def __init__(self, pictures: Pictures) -> None:
        self.front = Front("gallery")
        self._pictures = pictures
        self._lock = threading.RLock()
        self._worker = Worker(lambda said: self._say(said, wrong=True))
        self._first = 0
        self._at: int | None = None
        """The picture that is shown large."""
        self.front.on("turn", self._heard(self._turn))
        self.front.on("view", self._heard(self._view))
        self.front.on("close", lambda *_: self._close())
        self._turn(0)

    def _heard(self, act: Callable[[int], None]) -> Callable[[Mapping[str, Any], object], None]:
        """Call `act` with the number of a picture that the page names."""

        def heard(content: Mapping[str, Any], _: object) -> None:
            at = content.get("at")
            if isinstance(at, int) and 0 <= at < len(self._pictures.files):
                act(at)

        return heard

    def _turn(self, at: int) -> None:
        """Show the page of thumbnails that this picture is on."""
        files = self._pictures.files
        with self._lock:
            self._first = at - at % PER_OUTPUT
            shown = files[self._first : self._first + PER_OUTPUT]
            parts: dict[str, Any] = dict.fromkeys(self.front.parts("thumb/"))
            parts |= {f"thumb/{place}": self._thumb(file) for place, file in enumerate(shown)}
            parts["page"] = {"from": self._first, "total": len(files), "per": PER_OUTPUT}
            self.front.change(parts)
            self._say(_counted(self._first, len(shown), len(files)))
            first = self._first
        if any(self._pictures.known(file) is None for file in shown):
            self._worker.do("page", lambda: self._filled(first))

    def _view(self, at: int) -> None:
        """Show a picture large: its thumbnail until it is read."""
        file = self._pictures.files[at]
        seen = self._pictures.known(file)
        with self._lock:
            self._at = at
            small = [[seen.thumb, self._pictures.alt(file)]] if seen and seen.thumb else []
            self._show_large(at, small, caption(file), "" if small else f"Reading {label(file.path)} …")
            self._say(f"Picture {at + 1} of {len(self._pictures.files)}: {label(file.path)}")
        self._worker.do("view", lambda: self._viewed(at))

    def _close(self) -> None:
        with self._lock:
            at, self._at = self._at, None
            if at is not None:
                self._turn(at)
                self.front.change({"view": None})

    # -- requests, in the worker's thread -------------------------------------------------------------------------

    def _viewed(self, at: int) -> None:
        found, file = self._pictures, self._pictures.files[at]
        with found.looking():
            uri = found.large(file)
            before, why = found.before(file) if uri else (None, "")
            old = found.large(before) if before and found.seen(before).thumb else None
        said = f"{caption(file, why)}, before: {label(before.path)}" if before and old else caption(file, why)
        images = [[old, f"Before: {found.alt(before)}"]] if before and old else []
        images += [[uri, found.alt(file)]] if uri else []
        with self._lock:
            if self._at == at:
                self._show_large(at, images, said, "" if images else NO_PICTURE)

    def _filled(self, first: int) -> None:
        with self._pictures.looking():
            for place, file in enumerate(self._pictures.files[first : first + PER_OUTPUT]):
                self._pictures.seen(file)
                with self._lock:
                    if self._first != first:  # another page was turned to meanwhile
                        return
                    self.front.change({f"thumb/{place}": self._thumb(file)})

    # -- drawing --------------------------------------------------------------------------------------------------

    def _thumb(self, file: WorkspaceFile) -> dict[str, Any]:
        seen = self._pictures.known(file)
        return {
            "name": _name(file),
            "size": size(file.size_bytes),
            "caption": caption(file),
            "alt": self._pictures.alt(file),
            "uri": seen.thumb if seen else None,
        }

    def _show_large(self, at: int, images: list[list[str]], said: str, empty: str) -> None:
        name = _name(self._pictures.files[at])
        view = {"at": at, "total": len(self._pictures.files), "name": name, "images": images}
        self.front.change({"view": {**view, "caption": said, "empty": empty}})

    def _say(self, said: str, *, wrong: bool = False) -> None:
        self.front.change({"said": {"html": worded(said, SAID_CHARS), "wrong": wrong}})


def _counted(first: int, shown: int, whole: int) -> str:
    if whole == 1:
        return "1 picture."
    some = f"{first + 1} to {first + shown} of " if whole > shown else ""
    return f"{some}{whole} pictures, newest first."


def _name(file: WorkspaceFile) -> str:
    return label(file.name or file.file_name or file.path, 80)
