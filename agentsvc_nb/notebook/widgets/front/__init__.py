"""The front end of chat, file browser and gallery: one small anywidget, plain ES modules without a build step.

`Front` holds the state of a view as named parts and sends changes. The page renders the parts (`common.js`, the modules
of the view, `front.css`, the view's style sheet). A page that is opened or reloaded sends a greeting and gets all
parts. Text is never in a trait, because each change would send the whole text (docs/decisions/18).
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
"""Handles a message of the page, given the message's content and binary buffers."""
SAID_CHARS: Final = 1_000
"""The maximum length of a message in a view."""
_HELLO: Final = "hello"
_BYE: Final = "bye"


@functools.cache
def _source(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _answer_sheet() -> str:
    """Return the style sheet of answers, which JupyterLab loads with our extension for answers in cells."""
    return files("agentsvc_nb").joinpath("labextension/static/answer.css").read_text(encoding="utf-8")


class Front(anywidget.AnyWidget):  # type: ignore[misc]
    """A view of the front end. Any thread may call its methods.

    HTML in a part must come from our renderers. The page inserts no other HTML, and keeps only elements and attributes
    on its allow list.

    Args:
        modules: the names of the view's modules, such as `chat`, with its main module last.
    """

    base = traitlets.Unicode().tag(sync=True)
    sheet = traitlets.Unicode().tag(sync=True)
    _esm = traitlets.Unicode().tag(sync=True)

    def __init__(self, *modules: str) -> None:
        # Join all into one module: hosts load it from a blob URL, from which no relative import resolves.
        esm = "".join(_source(f"{name}.js") for name in ("icons", "common", *modules))
        base = _answer_sheet() + _source("front.css")
        super().__init__(_esm=esm, base=base, sheet=_source(f"{modules[-1]}.css"))
        self._parts: dict[str, Any] = {}
        self._heard: dict[str, Heard] = {}
        self._parts_lock = threading.RLock()
        self.views: set[str] = set()
        """The ids of the pages that show this view. The id of a page that was closed with its window stays here."""
        self.on_msg(self._hear)
        hear_as_addressed(self.comm)

    def part(self, name: str) -> Any:
        """Return a part; None if there is none."""
        return self._parts.get(name)

    def parts(self, prefix: str = "") -> dict[str, Any]:
        """Return the parts whose names begin with `prefix`."""
        with self._parts_lock:
            return {name: value for name, value in self._parts.items() if name.startswith(prefix)}

    def change(self, parts: Mapping[str, Any]) -> None:
        """In one message, set these parts, or remove the parts that are None. Does not send unchanged parts."""
        with self._parts_lock:
            new = {name: value for name, value in parts.items() if self._parts.get(name) != value}
            self.remember(new)
            if new:  # within the lock, so that a page applies changes in the order in which they were made
                self.send({"parts": new})

    def amend(self, name: str, **fields: Any) -> None:
        """Change these fields of a part, unless the part was removed."""
        with self._parts_lock:
            if (part := self.part(name)) is not None:
                self.change({name: {**part, **fields}})

    def remember(self, parts: Mapping[str, Any]) -> None:
        """Set parts that the page already shows. Send them only to pages that are opened later."""
        with self._parts_lock:
            self._parts |= parts
            for name in [name for name in parts if parts[name] is None]:
                del self._parts[name]

    def remove(self, prefix: str) -> None:
        """Remove all parts whose names begin with `prefix`."""
        self.change(dict.fromkeys(self.parts(prefix)))

    def on(self, what: str, heard: Heard) -> None:
        """Call `heard` for each message of this kind from the page."""
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
            except Exception:  # nobody could handle this error; handlers put errors for users into parts
                logging.getLogger(__name__).exception("Handling the message %r of a notebook page failed", what)
