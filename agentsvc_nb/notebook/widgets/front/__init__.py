"""The front end of chat, file browser and gallery: one small anywidget, plain ES modules without a build step.

`Front` holds the state of a view as named parts and sends what changes; the page renders them (`common.js`, the modules
of the view, `front.css`, the view's own style sheet). A page that is opened or loaded again says hello, and is sent all
parts. So no text stands in a trait, which would be sent whole with each change (docs/decisions/18).
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import anywidget
import traitlets

from agentsvc_nb.notebook.kernel.addressed import hear_as_addressed

Heard = Callable[[Mapping[str, Any], Sequence[memoryview]], object]
"""What is done on a message of the page: its content, and its binary buffers."""
SAID_CHARS: Final = 1_000
"""The longest text that a view says."""
_HELLO: Final = "hello"
_BYE: Final = "bye"


@functools.cache
def _source(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _answer_sheet() -> str:
    """The look of answers, which JupyterLab loads with our extension for those in cells."""
    return files("agentsvc_nb").joinpath("labextension/static/answer.css").read_text(encoding="utf-8")


class Front(anywidget.AnyWidget):  # type: ignore[misc]
    """A view of the front end. All methods may be called from any thread.

    HTML in a part must come from our renderers: the page sets nothing else, and only what is on its own list of
    elements and attributes.

    Args:
        modules: the names of its modules, the view's own last, such as `chat`.
    """

    base = traitlets.Unicode().tag(sync=True)
    sheet = traitlets.Unicode().tag(sync=True)
    _esm = traitlets.Unicode().tag(sync=True)

    def __init__(self, *modules: str) -> None:
        # One module: a relative import does not resolve from the blob URL that hosts load it from.
        esm = "".join(_source(f"{name}.js") for name in ("icons", "common", *modules))
        base = _answer_sheet() + _source("front.css")
        super().__init__(_esm=esm, base=base, sheet=_source(f"{modules[-1]}.css"))
        self._parts: dict[str, Any] = {}
        self._heard: dict[str, Heard] = {}
        self._parts_lock = threading.RLock()
        self.views: set[str] = set()
        """The pages that show it now, by an id of their own. A page that was closed with its window stays here."""
        self.on_msg(self._hear)
        hear_as_addressed(self.comm)

    def part(self, name: str) -> Any:
        """A part as it was set; None if there is none."""
        return self._parts.get(name)

    def parts(self, prefix: str = "") -> dict[str, Any]:
        """The parts whose names begin so."""
        with self._parts_lock:
            return {name: value for name, value in self._parts.items() if name.startswith(prefix)}

    def change(self, parts: Mapping[str, Any]) -> None:
        """Set these parts, or with None remove them, in one message; unchanged ones are not sent."""
        with self._parts_lock:
            new = {name: value for name, value in parts.items() if self._parts.get(name) != value}
            self.remember(new)
            if new:  # within the lock: a page applies changes in the order in which they were made
                self.send({"parts": new})

    def remember(self, parts: Mapping[str, Any]) -> None:
        """Set parts that the page shows already; only a page that is opened later is sent them."""
        with self._parts_lock:
            self._parts |= parts
            for name in [name for name in parts if parts[name] is None]:
                del self._parts[name]

    def remove(self, prefix: str) -> None:
        """Remove all parts whose names begin so."""
        self.change(dict.fromkeys(self.parts(prefix)))

    def on(self, what: str, heard: Heard) -> None:
        """Call `heard` on the page's messages of this kind."""
        self._heard[what] = heard

    def _hear(self, _: Any, content: Any, buffers: Sequence[memoryview] | None) -> None:
        what = content.get("do") if isinstance(content, dict) else None
        if what == _BYE:
            self.views.discard(str(content.get("view")))
        elif what == _HELLO:
            self.views.add(str(content.get("view")))
            with self._parts_lock:
                self.send({"view": content.get("view"), "parts": dict(self._parts)})
        elif heard := self._heard.get(str(what)):
            try:
                heard(content, buffers or ())
            except Exception:  # a page has nobody to raise to; what users must know the handlers put into parts
                logging.getLogger(__name__).exception("The message %r of a page failed", what)
