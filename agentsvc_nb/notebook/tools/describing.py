"""A form as words: its fields as rows of a table, and the input that it begins with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agentsvc_nb.notebook.tools.fields import MISSING, Field, shown
from agentsvc_nb.safe.text import label

DEPTH: Final = 4
KINDS_MAX: Final = 6
_WORDS: Final = {
    "file": "path of a file",
    "number": "number",
    "integer": "integer",
    "flag": "boolean",
    "nothing": "null",
    "text": "string",
    "object": "object",
    "json": "anything",
}

Line = tuple[str, str, bool, str]
"""Path, type, whether it is required, what it is."""


def lines(of: Field, path: str = "", depth: int = 0) -> Iterator[Line]:
    """The fields that hold values, those of objects within by their paths."""
    for one in of.properties():
        at, inner = f"{path}{one.name}", [*one.properties()] if one.kind == "object" else []
        if inner and depth + 1 < DEPTH:
            yield from lines(one, f"{at}.", depth + 1)
        else:
            said = one.schema.get("description")
            yield at, label(kind(one), 120), one.required, label(said, 300) if isinstance(said, str) else ""


def kind(of: Field, depth: int = 0) -> str:
    """A field's type as a few words."""
    if depth >= DEPTH:
        return "anything"
    match of.kind:
        case "choice":
            return " | ".join(name for name, _ in of.options[:20])
        case "const":
            return shown(of.schema["const"])
        case "array" | "choices":
            return f"list of {kind(of.item(), depth + 1)}"
        case "variants":
            return " or ".join(kind(one, depth + 1) for one in of.variants()[:KINDS_MAX])
    return _WORDS[of.kind]


def beginning(of: Field, depth: int = 0) -> dict[str, Any]:
    """The input with the defaults filled in, and `…` where something must be given."""
    found: dict[str, Any] = {}
    for one in of.properties():
        if one.default is not MISSING:
            found[one.name] = one.default
        elif one.required and one.kind == "object" and depth < DEPTH:
            found[one.name] = beginning(one, depth + 1)
        elif one.required:
            found[one.name] = one.example if one.example is not MISSING else "…"
    return found
