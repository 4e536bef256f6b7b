"""A JSON Schema with what it refers to put in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

Schema = Mapping[str, Any]
_HOPS: Final = 50
"""References and `allOf`s that are followed; more go round."""


def resolved(part: object, root: Schema) -> Schema:
    """A schema without `$ref` and `allOf` at its top; what goes round, or leads nowhere here, says nothing."""
    for _ in range(_HOPS):
        if not isinstance(part, Mapping):
            return {}
        if "$ref" in part:
            target = pointed(root, part["$ref"])
            part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
        elif is_listed(part, "allOf") and len(part["allOf"]) <= _HOPS:
            part = _merged([{key: value for key, value in part.items() if key != "allOf"}, *part["allOf"]], root)
        else:
            return part
    return {}


def is_listed(schema: Schema, word: str) -> bool:
    """Whether there is a list under this word."""
    return isinstance(schema.get(word), list)


def pointed(root: Schema, reference: object) -> Schema:
    """What `#/$defs/...` points to; nothing for an address elsewhere."""
    found: Any = root
    for part in unquote(str(reference)).removeprefix("#").split("/")[1:] if str(reference).startswith("#") else ["?"]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _merged(parts: list[Any], root: Schema) -> Schema:
    """All of them in one, as far as a form can show it: the first has its way where two say something different."""
    whole: dict[str, Any] = {}
    for part in parts:
        part = {**pointed(root, part["$ref"]), **part} if isinstance(part, Mapping) and "$ref" in part else part
        for word, value in part.items() if isinstance(part, Mapping) else ():
            if word == "$ref":
                continue
            before = whole.get(word)
            if isinstance(before, dict) and isinstance(value, dict):
                whole[word] = {**value, **before}
            elif word in ("required", "allOf") and isinstance(before, list) and isinstance(value, list):
                whole[word] = [*before, *value]
            else:
                whole.setdefault(word, value)
    return whole
