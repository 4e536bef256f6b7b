"""The parts of the gallery: thumbnails as buttons, and a stage for one picture and for what it was before."""

from __future__ import annotations

import secrets
from typing import Final

import ipywidgets

from agentsvc_nb.notebook.display.pictures import PER_OUTPUT
from agentsvc_nb.notebook.widgets.design import button, frame, row, text
from agentsvc_nb.safe.text import escape

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
# The browser's own: no script opens it, Escape closes it, and the focus comes back.
_ENLARGE: Final = '<button class="jupyter-button asvc-enlarge" popovertarget="{}-full">Enlarge</button>'


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
        self._style.value = f'<style>.{self._name}::before {{ background-image: url("{uri}"); }}</style>' if uri else ""
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
        self._enlarge = ipywidgets.HTML()
        self.close = button("Close", "Back to the thumbnails")
        # No slider: a screen reader finds no name on ipywidgets' one, and JupyterLab keeps its arrow keys for itself.
        self.wipe = ipywidgets.BoundedIntText(
            50, 0, 100, 10, description="Of the picture before, %", style=_LABELLED, layout={"width": "230px"}
        )
        self.old, self.new = button("Before", "Only the picture before"), button("After", "Only the picture after")
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
        """A picture and the one before it, as data URI and alternative text."""
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
