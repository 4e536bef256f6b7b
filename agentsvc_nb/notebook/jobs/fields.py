"""A JSON Schema as a tree of typed fields. It is expanded lazily, because a recursive schema has no end."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from urllib.parse import unquote

from agentsvc_nb.wire.text import label

Schema = Mapping[str, Any]
_HOPS: Final = 50
"""The most references and `allOf`s that are followed; a longer chain is taken for a cycle."""


def resolved(part: object, root: Schema) -> Schema:
    """Return a schema with `$ref` and `allOf` at its top level resolved; `{}` for a cycle or an unknown target."""
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
    """Whether the value of this keyword is a list."""
    return isinstance(schema.get(word), list)


def pointed(root: Schema, reference: object) -> Schema:
    """Return the schema that a reference such as `#/$defs/...` points to; `{}` if it is not in this document."""
    found: Any = root
    for part in unquote(str(reference)).removeprefix("#").split("/")[1:] if str(reference).startswith("#") else ["?"]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _merged(parts: list[Any], root: Schema) -> Schema:
    """Merge schemas as far as a form needs it: of contradicting keywords, the first counts."""
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


# fmt: off
Kind = Literal[
    "text", "file", "number", "integer", "flag", "nothing", "const", "choice", "choices",
    "object", "array", "variants", "json",
]
# fmt: on
FILE_FORMAT: Final = "workspace-path"
"""The `format` of a text that is the path of a file in the chat's workspace."""
_INITIALS: Final = frozenset({"html", "url", "id", "cta", "json", "csv", "pdf", "seo"})
LONG_CHARS: Final = 250
"""A text that may be longer than this gets an input of several lines."""
_TYPES: Final[Mapping[object, Kind]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "flag",
    "null": "nothing",
    "object": "object",
    "array": "array",
}
_KEYWORDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "object": ("properties", "additionalProperties", "required"),
    "array": ("items", "minItems", "maxItems", "prefixItems"),
    "text": ("pattern", "format", "minLength", "maxLength"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""The keywords from which the kind of a schema without a `type` is inferred."""


class Missing(enum.Enum):
    """The absence of a value, as distinct from null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema. `schema` is resolved against `root`, the whole document.

    `name` is its key in the containing object, empty for items of an array, rows and variants.
    """

    name: str
    title: str
    kind: Kind
    schema: Schema
    root: Schema
    required: bool = True

    @property
    def about(self) -> str:
        """The description (Markdown), and the schema's limits in words."""
        said = self.schema.get("description")
        return " ".join([*([label(said, 600)] if isinstance(said, str) and said else []), *_bounds(self.schema)])

    @property
    def default(self) -> Any:
        """The schema's default, or the value of a required constant, else MISSING."""
        if self.kind == "const" and self.required:
            return self.schema["const"]
        return self.schema.get("default", MISSING)

    @property
    def example(self) -> Any:
        """The schema's first example, or MISSING."""
        examples = self.schema.get("examples")
        return examples[0] if isinstance(examples, list) and examples else MISSING

    @property
    def is_long(self) -> bool:
        """Whether a text is likely to have several lines."""
        most, single = self.schema.get("maxLength"), str(self.schema.get("pattern", "")).startswith("^")
        if single or "format" in self.schema:
            return False
        return most > LONG_CHARS if isinstance(most, int | float) else bool(self.name)

    @property
    def options(self) -> list[tuple[str, Any]]:
        """The names and values of the options of a `choice`, or of an item of `choices`."""
        return options_of(self.schema if self.kind == "choice" else resolved(self.schema.get("items"), self.root))

    def properties(self) -> Iterator[Field]:
        """Yield the fields of an object, including those that are listed as required but have no schema."""
        known = self.schema.get("properties")
        known = known if isinstance(known, Mapping) else {}
        required = [name for name in _list(self.schema, "required") if isinstance(name, str)]
        others = self.schema.get("additionalProperties")
        unknown = {name: others if isinstance(others, Mapping) else {} for name in required if name not in known}
        for name, part in {**known, **unknown}.items():
            if part is not False:
                yield field(part, self.root, name=name, required=name in required)

    def others(self) -> Field | None:
        """The field of the values of further keys, if `additionalProperties` allows some; else None."""
        part = self.schema.get("additionalProperties")
        allowed = part is True or isinstance(part, Mapping)
        return field(part, self.root, title="Value") if self.kind == "object" and allowed else None

    def item(self) -> Field:
        """The field of an array's items."""
        return field(self.schema.get("items", True), self.root, title=f"{self.title}: item")

    def variants(self) -> list[Field]:
        """The alternatives of `anyOf`, `oneOf` or a list of types, each with the keywords that stand beside them."""
        apart = ("anyOf", "oneOf", "default", "title", "description")
        base = {word: part for word, part in self.schema.items() if word not in apart}
        if isinstance(types := self.schema.get("type"), list):
            parts = [{**base, "type": one} for one in types]
        else:
            parts = [{**base, **resolved(part, self.root)} for part in _alternatives(self.schema)]
        return [field(part, self.root, title=_variant_title(part, self.root)) for part in parts]

    @property
    def nullable(self) -> Field | None:
        """The other alternative, if there are exactly two and one of them is null; else None."""
        if self.kind != "variants":
            return None
        found = self.variants()
        some = [one for one in found if one.kind != "nothing"]
        if len(found) != 2 or len(some) != 1:
            return None
        about = self.schema.get("description")
        schema = {**some[0].schema, **({"description": about} if about else {})}
        return replace(some[0], name=self.name, title=self.title, schema=schema, required=True)


def _spoken(name: str) -> str:
    """A field's name as people write it: `Dry run`, `HTML`. Pydantic's own titles have capitals like a headline."""
    first, *others = (part.upper() if part in _INITIALS else part for part in name.split("_"))
    return " ".join([first[:1].upper() + first[1:], *others])


def limits(of: Field) -> list[str]:
    """What a value must keep to, in sentences; that of a list says what each of its items must, too."""
    given = of.nullable or of
    found = [*_bounds(given.schema)]
    if given.kind == "array":
        found += [f"Each: {said[0].lower()}{said[1:]}" for said in _bounds(given.item().schema)]
    return found


def field(part: object, root: Schema, *, name: str = "", title: str = "", required: bool = True) -> Field:
    """Make a field of a schema (or true). Its title is that beside a `$ref`, not that of the referenced schema."""
    own = part if isinstance(part, Mapping) else {}
    schema = resolved(part, root)
    called = own.get("title") if isinstance(own.get("title"), str) and name else ""
    called = _spoken(name) if called == name.replace("_", " ").title() else called
    return Field(
        name,
        label(called or title or _spoken(name) or "Value", 120) or "?",
        kind_of(schema, root),
        schema,
        root,
        required,
    )


def kind_of(schema: Schema, root: Schema) -> Kind:
    """Return the kind of field for a resolved schema."""
    if "const" in schema:
        return "const"
    if options_of(schema):
        return "choice"
    if _alternatives(schema) and "properties" not in schema:
        return "variants"
    kind = schema.get("type")
    if isinstance(kind, list):
        return "variants" if len(kind) > 1 else "json"
    found = _TYPES.get(kind) if isinstance(kind, str) else _kind_by_keywords(schema)
    match found:
        case "text":
            return "file" if schema.get("format") == FILE_FORMAT else "text"
        case "object":
            return "object" if any(word in schema for word in _KEYWORDS["object"]) else "json"
        case "array":
            return _array(schema, root)
    return found or "json"


def _kind_by_keywords(schema: Schema) -> Kind | None:
    return next((kind for kind, words in _KEYWORDS.items() if any(word in schema for word in words)), None)


def _array(schema: Schema, root: Schema) -> Kind:
    if "prefixItems" in schema or schema.get("items") is False:
        return "json"
    return "choices" if options_of(resolved(schema.get("items"), root)) else "array"


def options_of(schema: Schema) -> list[tuple[str, Any]]:
    """Return the names and values of an enum, or of alternatives that are all constants; else none."""
    values = [(shown(value), value) for value in _list(schema, "enum")]
    if values:
        return values
    parts = _alternatives(schema)
    if not all(isinstance(part, Mapping) and "const" in part for part in parts):
        return []
    return [(label(part.get("title") or shown(part["const"]), 120), part["const"]) for part in parts]


def shown(value: Any) -> str:
    """Format a value as one line: a text as it is if that is unambiguous, else as JSON."""
    if isinstance(value, str) and value and label(value, 120) == value and not value.isnumeric():
        return value
    return label(json.dumps(value, ensure_ascii=False), 120)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 equals neither 1.0 nor true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _alternatives(schema: Schema) -> list[Any]:
    return _list(schema, "anyOf") or _list(schema, "oneOf")


def _list(schema: Schema, word: str) -> list[Any]:
    return schema[word] if is_listed(schema, word) else []


def _variant_title(schema: Schema, root: Schema) -> str:
    said = schema.get("title")
    if isinstance(said, str) and said:
        return said
    words = {"text": "text", "flag": "yes or no", "nothing": "null", "integer": "whole number", "array": "list"}
    kind = kind_of(schema, root)
    return shown(schema["const"]) if kind == "const" else words.get(kind, kind)


def _bounds(schema: Schema) -> Iterator[str]:
    for low, high, what in (
        ("minimum", "maximum", "{}"),
        ("exclusiveMinimum", "exclusiveMaximum", "{}, not included"),
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
