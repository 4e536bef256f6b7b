"""The gallery widget (`%files gallery`): thumbnails, a large view, and a comparison of an edited picture."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.file_table import PER_OUTPUT
from agentsvc_nb.notebook.files.gallery import Pictures, caption
from agentsvc_nb.notebook.widgets.design import Worker, button, frame, put, row, text
from agentsvc_nb.wire.text import escape, label

STYLE: Final = """<style>
.asvc-thumb { position: relative; width: 160px !important; height: 160px !important;
    padding: 132px 6px 0 !important; line-height: 24px !important; text-overflow: ellipsis;
    background: var(--jp-layout-color2, #8882); }
.asvc-thumb::before { content: ""; position: absolute; inset: 8px 8px auto; height: 120px;
    background: center / contain no-repeat; }
.asvc-thumb:hover { background-color: var(--jp-layout-color3, #8884); }
.asvc-figure { margin: 0; }
.asvc-figure figcaption { overflow-wrap: anywhere; padding: 4px 0; }
.asvc-full { border: 0; padding: 0; background: none; color: inherit; }
.asvc-full:not(:popover-open) { display: block; position: static; width: auto; max-width: 100%; margin: 0; }
.asvc-full:popover-open { width: min(96vw, 1200px); max-height: 96vh; background: var(--jp-layout-color0, Canvas); }
.asvc-full::backdrop { background: #000a; }
.asvc-pair { display: grid; }
.asvc-pair img { grid-area: 1 / 1; width: 100%; height: 100%; max-height: 90vh; object-fit: contain;
    background: var(--jp-layout-color0, Canvas); }
.asvc-full:not(:popover-open) img { max-height: 600px; }
.asvc-pair img.asvc-after { clip-path: inset(0 0 0 var(--asvc-wipe, 50%)); transition: clip-path 0.3s; }
</style>"""

_LABELLED: Final = {"description_width": "initial"}
# A popover of the browser: it opens without a script, Escape closes it, and the focus returns.
_ENLARGE: Final = '<button class="jupyter-button asvc-enlarge" popovertarget="{}-full">Enlarge</button>'


class Thumb:
    """A button with a picture. The picture is in a style sheet of its own, so that it is sent once."""

    def __init__(self) -> None:
        self._name = f"asvc-{secrets.token_hex(6)}"
        self.button = button("", "")
        self.button.add_class("asvc-thumb")
        self.button.add_class(self._name)
        self._style = ipywidgets.HTML(layout={"display": "none"})
        self.box = ipywidgets.HBox([self.button, self._style])

    def show(self, name: str, tooltip: str, uri: str | None) -> None:
        """Show a picture. `uri` is base64 encoded by us, so nothing in it can end the style sheet."""
        self.button.description = name
        self.button.tooltip = tooltip
        self._style.value = f'<style>.{self._name}::before {{ background-image: url("{uri}"); }}</style>' if uri else ""
        self.box.layout.display = ""

    def hide(self) -> None:
        self.box.layout.display = "none"


class LargePicture:
    """The large view of one picture. Escape leaves the browser's full view; Close returns to the thumbnails."""

    def __init__(self) -> None:
        self._name = f"asvc-{secrets.token_hex(6)}"
        self.figure = ipywidgets.HTML()
        self.previous = button("Previous", "The picture before")
        self.next = button("Next", "The next picture")
        self._enlarge = ipywidgets.HTML()
        self.close = button("Close", "Back to the thumbnails")
        # Not a slider: that of ipywidgets has no name for screen readers, and JupyterLab takes its arrow keys.
        self.wipe = ipywidgets.BoundedIntText(
            50, 0, 100, 10, description="Of the picture before, %", style=_LABELLED, layout={"width": "230px"}
        )
        self.old = button("Before", "Only the picture before")
        self.new = button("After", "Only the picture after")
        self.old.on_click(lambda _: self.wipe.set_trait("value", 100))
        self.new.on_click(lambda _: self.wipe.set_trait("value", 0))
        self._comparing = row([self.wipe, self.old, self.new])
        self.wipe.observe(lambda change: self._wiped(change["new"]), "value")
        self._wiping = ipywidgets.HTML(layout={"display": "none"})
        self.box = ipywidgets.VBox(
            [row([self.previous, self.next, self._enlarge, self.close]), self.figure, self._comparing, self._wiping],
            layout={"display": "none"},
        )
        self.box.add_class(self._name)
        self._wiped(50)

    def show(self, now: tuple[str, str] | None, before: tuple[str, str] | None, caption: str) -> None:
        """Show a picture and the one it was edited from, each as a data URI and an alternative text."""
        self._comparing.layout.display = "" if now and before else "none"
        self._enlarge.value = _ENLARGE.format(self._name) if now else ""
        if now is None:
            self.figure.value = f"<p>This can't be shown as a picture.</p><p>{escape(caption, 400)}</p>"
            return
        images = [_image("asvc-before", f"Before: {before[1]}", before[0])] if before else []
        images.append(_image("asvc-after" if before else "", now[1], now[0]))
        self.figure.value = (
            f'<figure class="asvc-figure"><div id="{self._name}-full" class="asvc-full" popover>'
            f'<div class="asvc-pair">{"".join(images)}</div></div>'
            f"<figcaption>{escape(caption, 400)}</figcaption></figure>"
        )

    def clear(self, said: str) -> None:
        self._comparing.layout.display = "none"
        self._enlarge.value = ""
        self.figure.value = f"<p>{escape(said, 400)}</p>"

    def _wiped(self, percent: int) -> None:
        self._wiping.value = f"<style>.{self._name} {{ --asvc-wipe: {int(percent)}%; }}</style>"


class GalleryParts:
    """The widgets of the gallery, laid out."""

    def __init__(self) -> None:
        self.thumbs = [Thumb() for _ in range(PER_OUTPUT)]
        self.enlarged = LargePicture()
        self.before = button("Previous", "The pictures before")
        self.after = button("Next", "The next pictures")
        self.turning = row([self.before, self.after])
        self.grid = ipywidgets.VBox([row([thumb.box for thumb in self.thumbs]), self.turning])
        self.status = text("", "muted", role="status")
        style = ipywidgets.HTML(STYLE, layout={"display": "none"})
        self.box = frame([style, self.grid, self.enlarged.box, self.status])


def _image(kind: str, alt: str, uri: str) -> str:
    return f'<img class="{kind}" src="{uri}" alt="{escape(alt, 400)}">'


class Gallery:
    """The behaviour of the gallery. A lock guards its state; pictures are read in the worker's thread."""

    def __init__(self, pictures: Pictures) -> None:
        self.parts = GalleryParts()
        self._pictures = pictures
        self._lock = threading.RLock()
        self._worker = Worker(self._wrong)
        self._first = 0
        self._at = 0
        self._listen()
        self._page(0)

    # -- clicks, handled in any thread ----------------------------------------------------------------------------

    def _listen(self) -> None:
        parts, enlarged = self.parts, self.parts.enlarged
        pressed: Mapping[Any, Callable[[], None]] = {
            parts.before: lambda: self._turn(-PER_OUTPUT),
            parts.after: lambda: self._turn(PER_OUTPUT),
            enlarged.previous: lambda: self._step(-1),
            enlarged.next: lambda: self._step(1),
            enlarged.close: self._close,
        }
        for each, act in pressed.items():
            each.on_click(self._locked(act))
        for place, thumb in enumerate(parts.thumbs):
            thumb.button.on_click(self._locked(self._opens(place)))

    def _opens(self, place: int) -> Callable[[], None]:
        def opened() -> None:
            self._view(self._first + place)
            self.parts.enlarged.next.focus()

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
        self._at = at
        enlarged = self.parts.enlarged
        self.parts.grid.layout.display = "none"
        enlarged.box.layout.display = ""
        enlarged.clear(f"Reading {label(self._pictures.files[at].path)} …")
        self._say(f"Picture {at + 1} of {len(self._pictures.files)}: {label(self._pictures.files[at].path)}")
        self._worker.do("view", lambda: self._viewed(at))

    def _close(self) -> None:
        self.parts.enlarged.box.layout.display = "none"
        self.parts.grid.layout.display = ""
        self.parts.enlarged.clear("")
        self._page(self._at - self._at % PER_OUTPUT)
        self.parts.thumbs[self._at - self._first].button.focus()

    # -- requests, in the worker's thread -------------------------------------------------------------------------

    def _viewed(self, at: int) -> None:
        found, file = self._pictures, self._pictures.files[at]
        with found.looking():
            uri = found.large(file)
            before, why = found.before(file)
            old = found.large(before) if before and found.seen(before).thumb else None
        said = f"{caption(file, why)}, before: {label(before.path)}" if before and old else caption(file, why)
        with self._lock:
            if self._at == at and self.parts.enlarged.box.layout.display != "none":
                self.parts.enlarged.show(
                    (uri, found.alt(file)) if uri else None, (old, found.alt(before)) if before and old else None, said
                )

    def _filled(self, first: int) -> None:
        with self._pictures.looking():
            for place, file in enumerate(self._pictures.files[first : first + PER_OUTPUT]):
                self._pictures.seen(file)
                with self._lock:
                    if self._first != first:  # another page was turned to meanwhile
                        return
                    self._thumb(place)

    # -- drawing --------------------------------------------------------------------------------------------------

    def _page(self, first: int) -> None:
        self._first = first
        files = self._pictures.files
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
