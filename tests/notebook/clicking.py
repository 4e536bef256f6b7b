"""Widgets used as a user would: found by what is written on them, pressed, filled in, read."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from ipywidgets import HTML, HTMLMath


def parts(widget: Any) -> Iterator[Any]:
    """All that is shown in a widget, in its order."""
    if getattr(widget.layout, "display", None) == "none":
        return
    yield widget
    for child in getattr(widget, "children", ()):
        yield from parts(child)


def buttons(widget: Any) -> list[str]:
    return [part.description for part in parts(widget) if type(part).__name__ == "Button"]


def button(widget: Any, name: str) -> Any:
    """The last button whose name begins so."""
    found = [part for part in parts(widget) if type(part).__name__ == "Button" and part.description.startswith(name)]
    assert found, f"no {name!r} among {buttons(widget)}"
    return found[-1]


def press(widget: Any, name: str) -> None:
    """Press a button. One that is disabled does nothing, as in a browser."""
    if not (found := button(widget, name)).disabled:
        found.click()


def one(widget: Any, kind: str, which: int = -1) -> Any:
    """A part of this class; the last unless another is wanted."""
    return [part for part in parts(widget) if type(part).__name__ == kind][which]


def markup(widget: Any) -> str:
    return "\n".join(part.value for part in parts(widget) if isinstance(part, HTML | HTMLMath))


def text(widget: Any) -> str:
    """What is read, without the markup."""
    return html.unescape(re.sub("<[^>]+>", " ", markup(widget)))
