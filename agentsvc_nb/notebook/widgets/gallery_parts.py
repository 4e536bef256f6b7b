"""The parts of the gallery: thumbnails as buttons, and a stage for one picture and for what it was before."""

from __future__ import annotations

import secrets

import ipywidgets

from agentsvc_nb.notebook.pictures import PER_OUTPUT
from agentsvc_nb.notebook.widgets.design import button, frame, row, text
from agentsvc_nb.safe.text import escape

STYLE = """<style>
.asvc-thumb { width: 160px !important; height: 160px !important; padding: 0 4px !important;
    line-height: 24px !important; display: flex !important; align-items: flex-end; justify-content: center; overflow: hidden;
    background: var(--jp-layout-color2, #8882) center 8px / 144px 120px no-repeat; }
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
.asvc-pair img.asvc-after { clip-path: inset(0 0 0 var(--asvc-wipe, 50%)); }
</style>"""


class Thumb:
    """A button with a picture on it. The picture is a style of its own, so that each is sent once."""

    def __init__(self) -> None:
        self._name = f"asvc-{secrets.token_hex(6)}"
        self.button = button("", "")
        self.button.add_class("asvc-thumb")
        self.button.add_class(self._name)
        self._style = ipywidgets.HTML(layout={"display": "none"})
        self.box = ipywidgets.HBox([self.button, self._style])

    def show(self, name: str, told: str, uri: str | None) -> None:
        """`uri` is ours, base64: nothing in it ends the style."""
        self.button.description, self.button.tooltip = name, told
        self._style.value = f'<style>.{self._name} {{ background-image: url("{uri}"); }}</style>' if uri else ""
        self.box.layout.display = ""

    def hide(self) -> None:
        self.box.layout.display = "none"


class Stage:
    """One picture, large. Escape leaves the enlarged view, the browser's own; Close goes back to the thumbnails."""

    def __init__(self) -> None:
        self._name = f"asvc-{secrets.token_hex(6)}"
        self.figure = ipywidgets.HTML()
        self.previous = button("Previous", "The picture before")
        self.next = button("Next", "The next picture")
        self.close = button("Close", "Back to the thumbnails")
        self.wipe = ipywidgets.IntSlider(
            50, 0, 100, description="Before", readout=False, layout={"width": "auto", "max_width": "600px"}
        )
        self.wipe.observe(lambda change: self._wiped(change["new"]), "value")
        self._wiping = ipywidgets.HTML(layout={"display": "none"})
        self.box = ipywidgets.VBox(
            [row([self.previous, self.next, self.close]), self.figure, self.wipe, self._wiping],
            layout={"display": "none"},
        )
        self.box.add_class(self._name)
        self._wiped(50)

    def show(self, now: tuple[str, str] | None, before: tuple[str, str] | None, caption: str) -> None:
        """A picture and the one before it, as data URI and alternative text."""
        self.wipe.layout.display = "" if now and before else "none"
        if now is None:
            self.figure.value = f"<p>This can't be shown as a picture.</p><p>{escape(caption, 400)}</p>"
            return
        images = [_image("asvc-before", f"Before: {before[1]}", before[0])] if before else []
        images.append(_image("asvc-after" if before else "", now[1], now[0]))
        self.figure.value = (
            f'<figure class="asvc-figure"><div id="{self._name}-full" class="asvc-full" popover>'
            f'<div class="asvc-pair">{"".join(images)}</div></div>'
            f"<figcaption>{escape(caption, 400)}</figcaption></figure>"
            f'<button class="jupyter-button" popovertarget="{self._name}-full">Enlarge (Escape goes back)</button>'
        )

    def clear(self, said: str) -> None:
        self.wipe.layout.display = "none"
        self.figure.value = f"<p>{escape(said, 400)}</p>"

    def _wiped(self, percent: int) -> None:
        self._wiping.value = f"<style>.{self._name} {{ --asvc-wipe: {int(percent)}%; }}</style>"


class Parts:
    """All that can be seen and pressed."""

    def __init__(self) -> None:
        self.thumbs = [Thumb() for _ in range(PER_OUTPUT)]
        self.stage = Stage()
        self.before = button("Previous", "The pictures before")
        self.after = button("Next", "The next pictures")
        self.turning = row([self.before, self.after])
        self.grid = ipywidgets.VBox([row([thumb.box for thumb in self.thumbs]), self.turning])
        self.status = text("", "muted", role="status")
        style = ipywidgets.HTML(STYLE, layout={"display": "none"})
        self.box = frame([style, self.grid, self.stage.box, self.status])


def _image(kind: str, alt: str, uri: str) -> str:
    return f'<img class="{kind}" src="{uri}" alt="{escape(alt, 400)}">'
