"""docs/tools.md: a section a tool, its input and output rendered from the models (`python -m docs.tables`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.catalog import add_ask_tool, add_workspace_tools, tools
from agentsvc_nb.tools.port import CatalogEntry

HEAD: Final = """# Tools

Look up the tools that agents and programs can use. Call a direct tool with `client.tools.invoke(NAME, input)`, submit
an asynchronous one as a job with `client.jobs.submit(NAME, input)`, or name a tool in your question to an agent.

A tool that lacks a setting answers `is_error: true` with `error.code: "not_configured"`, and says what to set. Its
entry in the catalog has `available: false`. It never invents data. [Settings](settings.md) lists all settings.

## Tools for agents only

Only runs with a language model can call these tools.

| tool | what it does |
| --- | --- |
"""


def page() -> str:
    settings = Settings(Path("data"))
    catalog, of_agents = add_ask_tool(tools(settings)), add_workspace_tools({}, settings)
    rows = [f"| `{name}` | {_summary(of_agents[name])} |\n" for name in sorted(of_agents)]
    sections = [_section(catalog[name]) for name in sorted(catalog)]
    return "\n".join([HEAD + "".join(rows), *sections])


def _summary(tool: CatalogEntry) -> str:
    """The beginning of the description that the model gets."""
    return re.split(r"[.:]|, (?:if|including|or|when|without) ", tool.description)[0].replace(" you ", " the model ")


def _section(tool: CatalogEntry) -> str:
    settings, without = tool.settings_used, tool.requirements
    kind = "asynchronous" if tool.asynchronous else "direct"
    traits = [kind, "idempotent" if tool.idempotent else "not idempotent", *(["has an effect"] if tool.effect else [])]
    lines = [f"## {tool.name}", "", tool.description, "", f"Family `{tool.family}`; {', '.join(traits)}. {without}", ""]
    if settings:
        lines += ["Settings: " + ", ".join(f"`{variable(name)}`" for name in settings) + ".", ""]
    lines += _table("Input", tool.Input, "validation")
    if tool.Output is not None:
        lines += _table("Output (`data`)", tool.Output, "serialization")
    return "\n".join(lines)


def _table(title: str, model: type[BaseModel], mode: Any) -> list[str]:
    schema = model.model_json_schema(mode=mode)
    rows = [f"| `{name}` | {kind} | {about} |" for name, kind, about in _fields(schema, schema.get("$defs", {}), "")]
    return [f"### {title}", "", "| field | type | what it is |", "| --- | --- | --- |", *rows, ""]


def _fields(schema: dict[str, Any], defs: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        about = str(field.get("description", "")).replace("|", "\\|")
        default = "" if name in required or field.get("default") is None else f" Default: `{field['default']}`."
        yield prefix + name, _type(field), (about + default).strip()
        inner = _inner(field, defs)
        if inner is not None:
            yield from _fields(inner, defs, f"{prefix}{name}{'[]' if field.get('type') == 'array' else ''}.")


def _inner(field: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any] | None:
    choices = [field, field.get("items", {}), *field.get("anyOf", [])]
    references = [one["$ref"] for one in choices if isinstance(one, dict) and "$ref" in one]
    found: dict[str, Any] | None = defs[references[0].rpartition("/")[2]] if references else None
    return found


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return " or ".join(f"`{one}`" for one in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("type", "object"))
