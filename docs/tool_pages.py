"""docs/tools.md: a section a tool, its input and output rendered from the models (`python -m docs.tables`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.catalog import offered, tools
from agentsvc_nb.tools.port import Described

HEAD: Final = """# Tools

Rendered from the models in `wire/` by `python -m docs.tables`; do not edit by hand. Call one with
`client.tools.invoke(NAME, input)`, submit a job of an asynchronous one with `client.jobs.submit(NAME, input)`, or name
it to the agent. A tool that lacks a setting answers `is_error: true` with `error.code: "not_configured"` and says what
to set; its entry in the catalog says `available: false`. It never invents data.
All settings: [settings.md](settings.md).
"""

ABOUT: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "create_images": (
        ("image_url", "image_key", "image_model"),
        "Needs no model and no network, but for `background: model`. Texts keep a contrast of 4.5 by WCAG 2.",
    ),
    "edit_image": (
        ("image_url", "image_key", "image_model"),
        "Needs no model and no network, but for an `instruction`.",
    ),
    "media_transcript": (
        ("whisper_model",),
        "Needs the package `agentsvc-nb[transcripts]` and a faster-whisper model in a folder; or store media with "
        "captions.",
    ),
    "find_angles": (("model",), "Needs a language model: [models.md](models.md)."),
    "research_shortform": (
        ("model",),
        "Without a language model it gives the facts of the videos and no ideas; without videos, too, nothing.",
    ),
    "review_copy": (("model",), "Needs nothing; `judgement` takes a language model and is null without one."),
    "review_funnel": (
        ("fetch_allow",),
        "Needs the network. What a visitor's browser would be sent is looked at; no scripts are run. Addresses of "
        "private networks are refused, unless the operator allows them.",
    ),
    "web_search": (
        ("web_search", "web_search_url", "web_search_key"),
        "Needs a SearXNG of your own, a Brave Search API key, or the package `agentsvc-nb[ddgs]`, whose engines limit "
        "how often they are asked. A search costs a cent.",
    ),
    "get_meta_ad": (
        ("meta_token", "meta_url", "fetch_allow"),
        "Needs a token of an account that confirmed its identity. Media are taken from the ads' public snapshot pages; "
        "an ad without any is named in `without_media`.",
    ),
    "send_email": (
        ("smtp_url", "mail_from", "mail_recipients"),
        "A dry run, which is the default, needs no setting; to send takes all three.",
    ),
    "ask_stefanbrain": ((), "The agent that answers is `AGENTSVC_MODEL`: [models.md](models.md)."),
}
"""The settings that a tool reads, and what it does without them. Tools for tests are left out."""


def page() -> str:
    catalog = offered(tools(Settings(Path("data"))))
    sections = [_section(catalog[name]) for name in sorted(catalog)]
    return "\n".join([HEAD, *sections])


def _section(tool: Described) -> str:
    settings, without = ABOUT[tool.name]
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
