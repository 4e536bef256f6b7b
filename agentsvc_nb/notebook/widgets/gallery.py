"""The gallery: `%files gallery` in a live notebook. Thumbnails to choose from, one picture large, before and after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from agentsvc_nb.notebook.display.pictures import PER_OUTPUT
from agentsvc_nb.notebook.files.gallery import Pictures, caption
from agentsvc_nb.notebook.widgets.design import put
from agentsvc_nb.notebook.widgets.gallery_parts import Parts
from agentsvc_nb.notebook.widgets.worker import Worker
from agentsvc_nb.safe.text import label


class Gallery:
    """The gallery of these pictures."""

    def __init__(self, pictures: Pictures) -> None:
        self.parts = Parts()
        self._pictures = pictures
        self._lock = threading.RLock()
        self._worker = Worker(self._wrong)
        self._first, self._at = 0, 0
        self._listen()
        self._page(0)

    # -- what is pressed, in whichever thread ---------------------------------------------------------------------

    def _listen(self) -> None:
        parts, stage = self.parts, self.parts.stage
        pressed: Mapping[Any, Callable[[], None]] = {
            parts.before: lambda: self._turn(-PER_OUTPUT),
            parts.after: lambda: self._turn(PER_OUTPUT),
            stage.previous: lambda: self._step(-1),
            stage.next: lambda: self._step(1),
            stage.close: self._close,
        }
        for each, act in pressed.items():
            each.on_click(self._locked(act))
        for place, thumb in enumerate(parts.thumbs):
            thumb.button.on_click(self._locked(self._opens(place)))

    def _opens(self, place: int) -> Callable[[], None]:
        def opened() -> None:
            self._view(self._first + place)
            self.parts.stage.next.focus()

        return opened

    def _locked(self, act: Callable[[], None]) -> Callable[[Any], None]:
        def acted(_: Any) -> None:
            with self._lock:
                act()

        return acted

    def _turn(self, pictures: int) -> None:
        if 0 <= self._first + pictures < len(self._pictures.files):
            self._page(self._first + pictures)
        else:
            self._say("These are the last pictures." if pictures > 0 else "These are the first pictures.")

    def _step(self, by: int) -> None:
        if 0 <= self._at + by < len(self._pictures.files):
            self._view(self._at + by)
        else:
            self._say("This is the last picture." if by > 0 else "This is the first picture.")

    def _view(self, at: int) -> None:
        self._at, stage = at, self.parts.stage
        self.parts.grid.layout.display, stage.box.layout.display = "none", ""
        stage.clear(f"Reading {label(self._pictures.files[at].path)} …")
        self._say(f"Picture {at + 1} of {len(self._pictures.files)}: {label(self._pictures.files[at].path)}")
        self._worker.do("view", lambda: self._viewed(at))

    def _close(self) -> None:
        self.parts.stage.box.layout.display, self.parts.grid.layout.display = "none", ""
        self.parts.stage.clear("")
        self._page(self._at - self._at % PER_OUTPUT)
        self.parts.thumbs[self._at - self._first].button.focus()

    # -- what takes time, in the worker's thread ------------------------------------------------------------------

    def _viewed(self, at: int) -> None:
        found, file = self._pictures, self._pictures.files[at]
        with found.looking():
            uri = found.large(file)
            before, why = found.before(file)
            old = found.large(before) if before and found.seen(before).thumb else None
        said = f"{caption(file, why)}, before: {label(before.path)}" if before and old else caption(file, why)
        with self._lock:
            if self._at == at and self.parts.stage.box.layout.display != "none":
                self.parts.stage.show(
                    (uri, found.alt(file)) if uri else None, (old, found.alt(before)) if before and old else None, said
                )

    def _filled(self, first: int) -> None:
        with self._pictures.looking():
            for place, file in enumerate(self._pictures.files[first : first + PER_OUTPUT]):
                self._pictures.seen(file)
                with self._lock:
                    if self._first != first:
                        return
                    self._thumb(place)

    # -- what is seen ---------------------------------------------------------------------------------------------

    def _page(self, first: int) -> None:
        self._first, files = first, self._pictures.files
        shown = files[first : first + PER_OUTPUT]
        for place, thumb in enumerate(self.parts.thumbs):
            if place < len(shown):
                self._thumb(place)
            else:
                thumb.hide()
        self.parts.turning.layout.display = "" if len(files) > PER_OUTPUT else "none"
        self._say(f"{first + 1} to {first + len(shown)} of {len(files)} pictures, newest first.")
        if any(self._pictures.known(file) is None for file in shown):
            self._worker.do("page", lambda: self._filled(first))

    def _thumb(self, place: int) -> None:
        file = self._pictures.files[self._first + place]
        seen = self._pictures.known(file)
        name = f"{self._first + place + 1} {label(file.name or file.file_name or file.path, 60)}"
        self.parts.thumbs[place].show(name, caption(file), seen.thumb if seen else None)

    def _say(self, said: str) -> None:
        put(self.parts.status, said, "muted", role="status")

    def _wrong(self, said: str) -> None:
        put(self.parts.status, said, "wrong", role="status")
