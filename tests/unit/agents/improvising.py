"""Answers for any question without a model: canned text, objects that fit a schema, calls of the tool that is meant."""

from __future__ import annotations

import re
from typing import Any, Final

from tests.unit.agents.messages import Body, Reply, form_tool, schema_asked

Schema = dict[str, Any]

CANNED: Final = (
    "Spend rose from $12,400 in March to $15,900 in April, and sales from $48,200 to $61,300. Each $1 of spend brought "
    "$3.86, so the $3,500 more paid off.\n\n"
    "| Plan | Price | Sales in April |\n|---|---|---|\n| Starter | $49 | $21,070 |\n| Team | $199 | $40,230 |\n\n"
    "- Keep the **Starter** plan at $49.\n- Move $1,000 from search to `video` in May.\n"
)
FILE: Final = re.compile(r"[\w./-]+\.(?:csv|tsv|txt|md|json|html|pdf|xlsx|docx|parquet)\b")
THERE: Final = re.compile(r"\[Files in the workspace:.*?\]", re.DOTALL)
READS: Final = re.compile(r"\b(read|open|look|file|summar\w+)\b", re.IGNORECASE)
BOUND: Final = re.compile(r"(\w+): (-?\d+(?:\.\d+)?)")
QUOTED_CHARS: Final = 300
BY_NAME: Final = {
    "email": "ada@example.com",
    "url": "https://example.com/spring",
    "currency": "USD",
    "price": "$49.00",
    "amount": "$1,250.00",
    "name": "Spring Starter",
    "date": "2026-04-30",
    "path": "notes.txt",
}
BY_FORMAT: Final = {
    "date": "2026-04-30",
    "date-time": "2026-04-30T09:00:00Z",
    "time": "09:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com/spring",
    "uuid": "0b9c1f4e-6d0a-4c7e-9a44-2f1d3c5b7a90",
}
SENTENCE: Final = "Sales rose by $13,100 to $61,300 in April."


def improvised(body: Body) -> Reply:
    """What a helpful model might say."""
    schema = schema_asked(body)
    results = _results(body["messages"][-1])
    if not results and (call := _meant(body)):
        return Reply(("Let me have a look.",), calls=(call,))
    if schema is not None:
        return Reply(answer=made(schema))
    if results:
        return Reply(
            _in_words(f"The tool says:\n\n> {results[0][:QUOTED_CHARS]}\n\nThat is worth about $1,250 to you.")
        )
    return Reply(_in_words(CANNED))


def made(schema: Schema, root: Schema | None = None, name: str = "") -> Any:
    """A value that fits a plain schema: types, choices, references and bounds, but no patterns."""
    root = schema if root is None else root
    if "$ref" in schema:
        return made(_resolved(schema["$ref"], root), root, name)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for choices in ("anyOf", "oneOf"):
        if choices in schema and "properties" not in schema:
            return made(schema[choices][0], root, name)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            return _object(schema, root)
        case "array":
            return [made(schema.get("items", {}), root, name) for _ in range(int(_bounds(schema).get("minItems", 2)))]
        case "integer" | "number" as number:
            return _number(_bounds(schema), whole=number == "integer")
        case "boolean":
            return True
        case "null":
            return None
    return _text(schema, name)


def _object(schema: Schema, root: Schema) -> dict[str, Any]:
    found = {key: made(value, root, key) for key, value in schema.get("properties", {}).items()}
    for part in schema.get("allOf", []):
        found |= made(part, root)
    more = schema.get("additionalProperties")
    return found or ({"April": made(more, root)} if isinstance(more, dict) else {})


def _number(bounds: dict[str, float], *, whole: bool) -> float:
    low = bounds.get("minimum", bounds.get("exclusiveMinimum", -1) + 1)
    high = bounds.get("maximum", bounds.get("exclusiveMaximum", low + 100) - 1)
    value = max(low, min(high, 4))
    return int(value) if whole else float(value)


def _text(schema: Schema, name: str) -> str:
    bounds = _bounds(schema)
    text = BY_FORMAT.get(schema.get("format", "")) or BY_NAME.get(name.lower(), SENTENCE)
    text += " And so on." * (int(bounds.get("minLength", 0)) // 11)
    return text[: int(bounds.get("maxLength", len(text)))]


def _bounds(schema: Schema) -> dict[str, float]:
    """Those of the schema, and those that a provider's library moved into its description."""
    said = {key: float(value) for key, value in BOUND.findall(schema.get("description", ""))}
    return said | {key: value for key, value in schema.items() if isinstance(value, int | float)}


def _resolved(reference: str, root: Schema) -> Schema:
    found: Any = root
    for part in reference.split("/")[1:]:
        found = found[part]
    return dict(found)


def _meant(body: Body) -> tuple[str, dict[str, Any]] | None:
    """The call that the question asks for: of a tool that it names, or to read the file that it names."""
    form = form_tool(body)
    offered = {tool["name"]: tool for tool in body.get("tools", []) if tool is not form}
    asked = _asked(body)
    for name, tool in offered.items():
        if re.search(rf"\b{name}\b", asked):
            return name, made(tool["input_schema"])
    if "read_file" in offered and READS.search(asked) and (path := _path(asked)):
        return "read_file", {"path": path}
    return None


def _path(asked: str) -> str | None:
    """The file that the question names, by its path in the workspace; the first one there when it names none."""
    there = [path for told in THERE.findall(asked) for path in FILE.findall(told)]
    named = FILE.findall(THERE.sub("", asked))
    if not named:
        return there[0] if there else None
    return next((path for path in there if path.endswith(named[0])), named[0])


def _asked(body: Body) -> str:
    """The text of the last message."""
    return _plain(body["messages"][-1]["content"])


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def _results(message: dict[str, Any]) -> list[str]:
    content = message["content"] if isinstance(message["content"], list) else []
    return [_plain(block.get("content", "")) for block in content if block["type"] == "tool_result"]


def _in_words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\S+\s*|\s+", text))
