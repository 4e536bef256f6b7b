"""The front end of all widgets: one small anywidget, with plain ES modules that need no build step.

`Front` holds the state of a widget as named parts (JSON values) and sends changes to the page. On the page, `common.js`
and the widget's own modules render the parts. A page that is opened or reloaded sends a greeting and gets all parts.
The parts are not synchronized as a trait, because each change would send all of them (docs/decisions/18).
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

from agentsvc_nb.notebook.kernel.comm_proxy import register_proxy

MessageHandler = Callable[[Mapping[str, Any], Sequence[memoryview]], object]
"""Handles a message from the page. The arguments are the message's content and its binary buffers."""
SAID_CHARS: Final = 1_000
"""The maximum length of a line that a widget shows to the user, such as an error."""
_HELLO: Final = "hello"
_BYE: Final = "bye"


@functools.cache
def _source(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _answer_sheet() -> str:
    """Return the style sheet for answers. For answers in cells, JupyterLab loads it with our extension."""
    return files("agentsvc_nb").joinpath("labextension/static/answer.css").read_text(encoding="utf-8")


class Front(anywidget.AnyWidget):  # type: ignore[misc]
    """A widget whose state is a set of named parts. Its methods may be called from any thread.

    HTML in a part must come from this package's renderers. The page removes elements and attributes that are not on its
    allow list.

    Args:
        modules: the names of the widget's JavaScript modules without `.js`. The last one is the main module, such as
            `chat`.
    """

    base = traitlets.Unicode().tag(sync=True)
    sheet = traitlets.Unicode().tag(sync=True)
    _esm = traitlets.Unicode().tag(sync=True)

    def __init__(self, *modules: str) -> None:
        # Join the modules into one. Hosts load it from a blob URL, from which relative imports don't work.
        esm = "".join(_source(f"{name}.js") for name in ("icons", "common", *modules))
        base = _answer_sheet() + _source("front.css")
        super().__init__(_esm=esm, base=base, sheet=_source(f"{modules[-1]}.css"))
        self._parts: dict[str, Any] = {}
        self._heard: dict[str, MessageHandler] = {}
        self._parts_lock = threading.RLock()
        self.views: set[str] = set()
        """The ids of the pages that show this view. The id of a page that was closed with its window stays here."""
        self.on_msg(self._hear)
        register_proxy(self.comm)

    def part(self, name: str) -> Any:
        """Return the value of a part. Return None if no such part exists."""
        return self._parts.get(name)

    def parts(self, prefix: str = "") -> dict[str, Any]:
        with self._parts_lock:
            return {name: value for name, value in self._parts.items() if name.startswith(prefix)}

    def change(self, parts: Mapping[str, Any]) -> None:
        """Set these parts, or remove them if their value is None, in one message. Unchanged parts are not sent."""
        with self._parts_lock:
            new = {name: value for name, value in parts.items() if self._parts.get(name) != value}
            self.remember(new)
            if new:  # within the lock, so that pages receive changes in the right order
                self.send({"parts": new})

    def update_part(self, name: str, **fields: Any) -> None:
        """Change fields of a part. Do nothing if the part was removed."""
        with self._parts_lock:
            if (part := self.part(name)) is not None:
                self.change({name: {**part, **fields}})

    def remember(self, parts: Mapping[str, Any]) -> None:
        """Set parts without sending them, because the page shows them already. Pages opened later receive them."""
        with self._parts_lock:
            self._parts |= parts
            for name in [name for name in parts if parts[name] is None]:
                del self._parts[name]

    def remove(self, prefix: str) -> None:
        self.change(dict.fromkeys(self.parts(prefix)))

    def on(self, what: str, heard: MessageHandler) -> None:
        """From now on, call `heard` for each message of the kind `what` from the page."""
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
            except Exception:  # no other code would handle this error; handlers show errors for users in parts
                logging.getLogger(__name__).exception("Handling the message %r of a notebook page failed", what)
