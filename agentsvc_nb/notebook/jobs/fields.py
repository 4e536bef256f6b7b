"""Describe the fields of a tool's input, which are read from the tool's JSON Schema.

This module understands the schemas that pydantic writes. A field with any other schema has the kind `json`, whose value
may be any JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from agentsvc_nb.wire.text import label

Schema = Mapping[str, Any]
# fmt: off
Kind = Literal[
    "text", "file", "number", "integer", "flag", "const", "choice", "choices", "object", "array", "variants", "json",
]
# fmt: on
MISSING: Final[Any] = object()
"""Marks a missing value, which is not the same as null."""
FILE_FORMAT: Final = "workspace-path"
"""The `format` in a schema for texts that are paths of files in the chat."""
ABOUT_CHARS: Final = 600
"""The maximum length of a displayed field description."""
_LONG_CHARS: Final = 250
"""A text field whose maximum length is greater than this gets a multi-line input."""
_REFERENCES: Final = 50
"""The maximum number of `$ref` references to follow. A longer chain is treated as a cycle."""
_LEVELS: Final = 4
"""The maximum depth to which nested fields are described. Without it, a recursive schema would never end."""
_ALTERNATIVES: Final = 6
"""How many alternative types of a field are named in its description."""
_INITIALS: Final = frozenset({"html", "url", "id", "cta", "json", "csv", "pdf", "seo"})
_KINDS: Final[Mapping[object, Kind]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "flag",
    "object": "object",
    "array": "array",
}
_WORDS: Final = {"file": "path of a file", "flag": "boolean", "text": "string", "json": "anything"}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a tool's input. `root` is the complete schema, in which references of `schema` are looked up.

    `name` is the field's key in the object that contains it. It is empty for items of an array. If the value may be
    null, the other attributes describe the value that is not null, and `nullable` is True.
    """

    name: str
    title: str
    kind: Kind
    schema: Schema
    root: Schema
    required: bool = True
    nullable: bool = False

    @property
    def about(self) -> str:
        said = self.schema.get("description")
        return label(said, ABOUT_CHARS) if isinstance(said, str) else ""

    @property
    def default(self) -> Any:
        """The default in the schema, or the value of a required constant. MISSING if there is neither."""
        return self.schema.get("default", self.schema["const"] if self.kind == "const" and self.required else MISSING)

    @property
    def is_long(self) -> bool:
        """Whether the text is likely to have several lines."""
        if "format" in self.schema or str(self.schema.get("pattern", "")).startswith("^"):
            return False
        most = self.schema.get("maxLength")
        return most > _LONG_CHARS if isinstance(most, int | float) else bool(self.name)

    @property
    def options(self) -> list[tuple[str, Any]]:
        """The label and value of each option of a flag, a constant, a `choice`, or an item of `choices`."""
        if self.kind == "flag":
            return [("yes", True), ("no", False)]
        schema = _resolve(self.schema.get("items"), self.root) if self.kind == "choices" else self.schema
        return [(format_value(value), value) for value in schema.get("enum") or [schema["const"]]]

    def properties(self) -> list[Field]:
        known, required = self.schema.get("properties"), _list(self.schema, "required")
        parts = known.items() if isinstance(known, Mapping) else ()
        return [field(part, self.root, name=name, required=name in required) for name, part in parts]

    def additional(self) -> Field | None:
        """Return the field for values under other keys (`additionalProperties`), or None if none are allowed."""
        part = self.schema.get("additionalProperties")
        return field(part, self.root, title="Value") if part is True or isinstance(part, Mapping) else None

    def item(self) -> Field:
        """Return the field for the items of an array."""
        return field(self.schema.get("items"), self.root, title=f"{self.title}: item")

    @property
    def limits(self) -> str:
        """The constraints on the value, and on each item of a list, as sentences."""
        each = _bounds(self.item().schema) if self.kind == "array" else ()
        return " ".join([*_bounds(self.schema), *(f"Each: {said[0].lower()}{said[1:]}" for said in each)])

    def words(self, depth: int = 0) -> str:
        """Return the field's type in a few words, such as `list of string`."""
        match self.kind:
            case _ if depth >= _LEVELS:
                return "anything"
            case "choice":
                said = " | ".join(name for name, _ in self.options[:20])
            case "const":
                said = format_value(self.schema["const"])
            case "array" | "choices":
                said = f"list of {self.item().words(depth + 1)}"
            case "variants":
                parts = _list(self.schema, "anyOf")[:_ALTERNATIVES]
                said = " or ".join(field(part, self.root).words(depth + 1) for part in parts)
            case kind:
                said = _WORDS.get(kind, kind)
        return f"{said} or null" if self.nullable else said


class FieldRow(NamedTuple):
    """A row in the table of a tool's fields. `path` is the field's name, or a dotted path such as `outputs.count`."""

    path: str
    words: str
    required: bool
    limits: str
    about: str


def rows(of: Field, path: str = "", depth: int = 1) -> Iterator[FieldRow]:
    """Yield a row for each field of an object. Fields of nested objects have dotted paths."""
    for one in of.properties():
        at = f"{path}{one.name}"
        if one.kind == "object" and one.properties() and depth < _LEVELS:
            yield from rows(one, f"{at}.", depth + 1)
        else:
            yield FieldRow(at, label(one.words(), 120), one.required, one.limits, one.about)


def initial_input(of: Field, depth: int = 0) -> dict[str, Any]:
    """Return an input to start from: default values, and for required fields without a default, an example or `…`."""
    found: dict[str, Any] = {}
    for one in of.properties():
        if one.default is not MISSING:
            found[one.name] = one.default
        elif one.required and one.kind == "object" and depth < _LEVELS:
            found[one.name] = initial_input(one, depth + 1)
        elif one.required:
            found[one.name] = next(iter(_list(one.schema, "examples")), "…")
    return found


def field(part: object, root: Schema, *, name: str = "", title: str = "", required: bool = True) -> Field:
    """Return the field that a schema describes. A title next to a `$ref` overrides the referenced schema's title."""
    schema = _resolve(part, root)
    alternatives = [_resolve(one, root) for one in _list(schema, "anyOf")]
    values = [one for one in alternatives if one.get("type") != "null"]
    nullable = len(alternatives) == 2 and len(values) == 1
    if nullable:
        own = {word: schema[word] for word in ("title", "description", "default") if word in schema}
        schema = {**values[0], **own}
    called = part.get("title") if isinstance(part, Mapping) and name else ""
    if not isinstance(called, str) or called in ("", name.replace("_", " ").title()):
        # Pydantic derives titles from names and capitalises every word. Capitalise only the first.
        first, *others = (word.upper() if word in _INITIALS else word for word in name.split("_"))
        called = title or " ".join([first[:1].upper() + first[1:], *others]) or "Value"
    return Field(name, label(called, 120) or "?", _kind(schema, root), schema, root, required, nullable)


def _resolve(part: object, root: Schema) -> Schema:
    """Return a schema with the `$ref` at its top level resolved. Return `{}` for a cycle or an unknown reference."""
    for _ in range(_REFERENCES):
        if not isinstance(part, Mapping):
            return {}
        if "$ref" not in part:
            return part
        target: Any = root
        for key in str(part["$ref"]).removeprefix("#/").split("/"):
            target = target.get(key) if isinstance(target, Mapping) else None
        target = target if isinstance(target, Mapping) else {}
        part = {**target, **{word: value for word, value in part.items() if word != "$ref"}}
    return {}


def _kind(schema: Schema, root: Schema) -> Kind:
    if "const" in schema:
        return "const"
    if _list(schema, "enum"):
        return "choice"
    if _list(schema, "anyOf"):
        return "variants"
    declared = schema.get("type")
    kind = _KINDS.get(declared, "json") if isinstance(declared, str) else "json"
    if kind == "text" and schema.get("format") == FILE_FORMAT:
        return "file"
    if kind == "array":
        if "prefixItems" in schema:
            return "json"
        return "choices" if _list(_resolve(schema.get("items"), root), "enum") else "array"
    return kind


def format_value(value: Any) -> str:
    """Format a value on one line: an unambiguous text unchanged, any other value as JSON."""
    if isinstance(value, str) and value and label(value, 120) == value and not value.isnumeric():
        return value
    return label(json.dumps(value, ensure_ascii=False), 120)


def is_same_json(one: Any, other: Any) -> bool:
    """Return True if two values have the same JSON. For example, 1 differs from 1.0 and from true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _list(schema: Schema, word: str) -> list[Any]:
    value = schema.get(word)
    return value if isinstance(value, list) else []


def _bounds(schema: Schema) -> Iterator[str]:
    for low, high, what in (
        ("minimum", "maximum", "{}"),
        ("exclusiveMinimum", "exclusiveMaximum", "{}, exclusive"),
        ("minItems", "maxItems", "{} items"),
        ("minLength", "maxLength", "{} characters"),
    ):
        least, most = (schema.get(word) for word in (low, high))
        if isinstance(least, int | float) and isinstance(most, int | float):
            yield what.format(f"From {least:,} to {most:,}") + "."
        elif isinstance(most, int | float):
            yield what.format(f"At most {most:,}") + "."
        elif isinstance(least, int | float):
            yield what.format(f"At least {least:,}").replace(" 1 items", " 1 item") + "."
    if isinstance(named := schema.get("format"), str) and named != FILE_FORMAT:
        yield f"Format: {label(named, 40)}."
