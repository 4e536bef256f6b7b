"""The fields of a tool's input, read from its JSON Schema, and their descriptions for users.

They cover the schemas that pydantic writes. Anything else has the kind `json`, which fits every schema.
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
"""The absence of a value, as distinct from null."""
FILE_FORMAT: Final = "workspace-path"
"""The `format` of a text that holds the path of a file in the chat's workspace."""
ABOUT_CHARS: Final = 600
"""The maximum length of a displayed description."""
_LONG_CHARS: Final = 250
"""A text that may be longer than this gets an input of several lines."""
_REFERENCES: Final = 50
"""The maximum number of references to follow; a longer chain counts as a cycle."""
_LEVELS: Final = 4
"""The maximum depth of described fields, because a recursive schema has no end."""
_ALTERNATIVES: Final = 6
"""The maximum number of alternatives of a type to name."""
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
    """A field of a schema. `root` is the whole document, which resolves references in `schema`.

    `name` is its key in the containing object, empty for items of an array. For a value that may be null, this is the
    field of the value itself, with `nullable` set.
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
        """The schema's default, or the value of a required constant, otherwise MISSING."""
        return self.schema.get("default", self.schema["const"] if self.kind == "const" and self.required else MISSING)

    @property
    def is_long(self) -> bool:
        """Whether a text is likely to have several lines."""
        if "format" in self.schema or str(self.schema.get("pattern", "")).startswith("^"):
            return False
        most = self.schema.get("maxLength")
        return most > _LONG_CHARS if isinstance(most, int | float) else bool(self.name)

    @property
    def options(self) -> list[tuple[str, Any]]:
        """The names and values to choose from, for a flag, a constant, a `choice`, or an item of `choices`."""
        if self.kind == "flag":
            return [("yes", True), ("no", False)]
        schema = _resolve(self.schema.get("items"), self.root) if self.kind == "choices" else self.schema
        return [(shown(value), value) for value in schema.get("enum") or [schema["const"]]]

    def properties(self) -> list[Field]:
        known, required = self.schema.get("properties"), _list(self.schema, "required")
        parts = known.items() if isinstance(known, Mapping) else ()
        return [field(part, self.root, name=name, required=name in required) for name, part in parts]

    def others(self) -> Field | None:
        """The field of additional values if `additionalProperties` allows any, otherwise None."""
        part = self.schema.get("additionalProperties")
        return field(part, self.root, title="Value") if part is True or isinstance(part, Mapping) else None

    def item(self) -> Field:
        """The field of an array's items."""
        return field(self.schema.get("items"), self.root, title=f"{self.title}: item")

    @property
    def limits(self) -> str:
        """The constraints of a value, and of each item of a list, in sentences."""
        each = _bounds(self.item().schema) if self.kind == "array" else ()
        return " ".join([*_bounds(self.schema), *(f"Each: {said[0].lower()}{said[1:]}" for said in each)])

    def words(self, depth: int = 0) -> str:
        """Return the field's type in a few words."""
        match self.kind:
            case _ if depth >= _LEVELS:
                return "anything"
            case "choice":
                said = " | ".join(name for name, _ in self.options[:20])
            case "const":
                said = shown(self.schema["const"])
            case "array" | "choices":
                said = f"list of {self.item().words(depth + 1)}"
            case "variants":
                parts = _list(self.schema, "anyOf")[:_ALTERNATIVES]
                said = " or ".join(field(part, self.root).words(depth + 1) for part in parts)
            case kind:
                said = _WORDS.get(kind, kind)
        return f"{said} or null" if self.nullable else said


class FieldRow(NamedTuple):
    """A field in the table of a tool; `path` is its name, or a nested path such as `outputs.count`."""

    path: str
    words: str
    required: bool
    limits: str
    about: str


def rows(of: Field, path: str = "", depth: int = 1) -> Iterator[FieldRow]:
    """Yield the fields of an object, with nested objects flattened to paths."""
    for one in of.properties():
        at = f"{path}{one.name}"
        if one.kind == "object" and one.properties() and depth < _LEVELS:
            yield from rows(one, f"{at}.", depth + 1)
        else:
            yield FieldRow(at, label(one.words(), 120), one.required, one.limits, one.about)


def beginning(of: Field, depth: int = 0) -> dict[str, Any]:
    """Return a first input: the defaults, and an example or `…` for required fields without a default."""
    found: dict[str, Any] = {}
    for one in of.properties():
        if one.default is not MISSING:
            found[one.name] = one.default
        elif one.required and one.kind == "object" and depth < _LEVELS:
            found[one.name] = beginning(one, depth + 1)
        elif one.required:
            found[one.name] = next(iter(_list(one.schema, "examples")), "…")
    return found


def field(part: object, root: Schema, *, name: str = "", title: str = "", required: bool = True) -> Field:
    """Return the field of a schema. A title next to a `$ref` wins over the title of the referenced schema."""
    schema = _resolve(part, root)
    alternatives = [_resolve(one, root) for one in _list(schema, "anyOf")]
    values = [one for one in alternatives if one.get("type") != "null"]
    nullable = len(alternatives) == 2 and len(values) == 1
    if nullable:
        own = {word: schema[word] for word in ("title", "description", "default") if word in schema}
        schema = {**values[0], **own}
    called = part.get("title") if isinstance(part, Mapping) and name else ""
    if not isinstance(called, str) or called in ("", name.replace("_", " ").title()):
        # Pydantic capitalises its titles like a headline.
        first, *others = (word.upper() if word in _INITIALS else word for word in name.split("_"))
        called = title or " ".join([first[:1].upper() + first[1:], *others]) or "Value"
    return Field(name, label(called, 120) or "?", _kind(schema, root), schema, root, required, nullable)


def _resolve(part: object, root: Schema) -> Schema:
    """Return a schema with `$ref` at its top level resolved; `{}` for a cycle or an unknown target."""
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


def shown(value: Any) -> str:
    """Format a value as one line: unambiguous text unchanged, anything else as JSON."""
    if isinstance(value, str) and value and label(value, 120) == value and not value.isnumeric():
        return value
    return label(json.dumps(value, ensure_ascii=False), 120)


def same(one: Any, other: Any) -> bool:
    """Return True if two values are the same JSON: 1 equals neither 1.0 nor true."""
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
