"""Write docs/errors.md, routes.md, limits.md, settings.md, metrics.md, tools.md, magics.md and cli.md from the code.

    python -m docs.tables

`tests/unit/repository/test_docs.py` fails when they differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentsvc_nb.service.http.metrics import GAUGES
from agentsvc_nb.service.telemetry.metrics import Metrics
from agentsvc_nb.settings import Section, Settings, variable
from agentsvc_nb.wire import limits
from agentsvc_nb.wire.codes import CODES, FAILURES, Code
from agentsvc_nb.wire.routes import MCP, ROUTES
from docs import command_pages, limit_pages, magic_pages, tool_pages

HERE = Path(__file__).parent
METRICS = (*(counted.metric for counted in Metrics().all()), *GAUGES)
STATED = "*stated*: part of the API as it was first described; *ours*: decided by this project ([api/](api/README.md))."


def pages() -> dict[str, str]:
    """The rendered pages, by file name."""
    return {
        "errors.md": errors(),
        "routes.md": routes(),
        "limits.md": limits_page(),
        "settings.md": settings(),
        "metrics.md": metrics(),
        "tools.md": tool_pages.page(),
        "magics.md": magic_pages.page(),
        "cli.md": command_pages.page(),
    }


def errors() -> str:
    failures = ((f"`{code}`", f.cause, f.hint, f.source) for code, f in FAILURES.items())
    return "\n".join(
        [
            "# Errors",
            "",
            "Rendered from `wire/codes.py` by `python -m docs.tables`; do not edit by hand.",
            STATED,
            "*Transient* codes are sent again by the client where that is safe.",
            "By the HTTP status of the answer; the code stands in the error's text, in brackets. What else to do about",
            "the most common ones: [troubleshooting](troubleshooting.md).",
            "",
            *_by_status(),
            "## Why a run or job failed",
            "",
            *table(("last_error / error.code", "cause", "what to do", "source"), failures),
            "",
        ]
    )


def _by_status() -> Iterable[str]:
    """A section for each status, so that the search leads to it."""
    for status, group in itertools.groupby(sorted(CODES.values(), key=lambda code: code.status), lambda c: c.status):
        codes = [*group]
        rows = ((f"`{c.code}`", f"`{c.raises}`", c.retry, _cause(c), c.hint, c.source) for c in codes)
        yield f"## {status}: {', '.join(dict.fromkeys(code.type for code in codes))}"
        yield ""
        yield from table(("code", "exception", "retry", "cause", "what to do", "source"), rows)
        yield ""


def _cause(row: Code) -> str:
    return f"{row.cause} *Never answered by this service: {row.unreached}*" if row.unreached else row.cause


def routes() -> str:
    rows = (
        (
            f"`{r.name}`",
            r.method,
            f"`{r.path}`",
            r.purpose,
            ", ".join(sorted(r.scopes)) or r.access,
            r.resend,
            "yes" if r.limited else "no",
            r.source,
        )
        for r in (*ROUTES.values(), MCP)
    )
    return "\n".join(
        [
            "# Routes",
            "",
            "Rendered from `agentsvc_nb/wire/routes.py` by `python -m docs.tables`; do not edit by hand.",
            STATED,
            "A key needs any one of the scopes. *Sent again*: what the client repeats after a transient failure.",
            "",
            *table(("name", "method", "path", "purpose", "scope", "sent again", "rate-limited", "source"), rows),
            "",
        ]
    )


def limits_page() -> str:
    return "\n".join(
        [
            "# Limits",
            "",
            "Rendered from `agentsvc_nb/wire/limits.py` by `python -m docs.tables`; do not edit by hand.",
            "The unit is the last word of a name. *A setting*: the default of one of the [settings](settings.md).",
            STATED,
            *(line for section in limit_pages.sections(limits) for line in section),
            "",
        ]
    )


def settings() -> str:
    return "\n".join(
        [
            "# Settings",
            "",
            "Rendered from `agentsvc_nb/settings.py` by `python -m docs.tables`; do not edit by hand.",
            "The service reads them once, at its start. A limit that is not set does not exist.",
            "",
            "The data folder stores the values in `settings.json`, and the next service starts with them, whoever",
            "starts it. A variable that you set replaces the stored value. An empty variable goes back to the default",
            "(`AGENTSVC_RUN_CAPACITY= agentsvc restart`). To go back to all defaults, delete that file while no",
            "service runs.",
            "",
            "The folder stores no *secret*, and no address with a password or a query. It stores their names, so that",
            "`agentsvc status` can say what is missing.",
            "",
            *(line for section in Settings.__bases__ if issubclass(section, Section) for line in _section(section)),
        ]
    )


def _section(section: type[Section]) -> list[str]:
    schemas = section.model_json_schema()["properties"]
    rows = (
        (
            f"`{variable(name)}`",
            "*secret*: " * bool(field.exclude and not field.repr) + _advice(schemas[name]),
            "this user's folder" if field.is_required() else _default(field.default),
            field.description,
        )
        for name, field in section.model_fields.items()
    )
    return [f"## {section.__doc__}", "", *table(("variable", "value", "default", "what it does"), rows), ""]


def _advice(schema: dict[str, Any]) -> str:
    """Return the values that a setting takes, from its schema or from that of its optional type."""
    found: str = schema["advice"] if "advice" in schema else schema["anyOf"][0]["advice"]
    return found


def metrics() -> str:
    rows = (
        (f"`{metric.name}`", metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.help)
        for metric in METRICS
    )
    return "\n".join(
        [
            "# Metrics",
            "",
            "Rendered from `service/telemetry/metrics.py` and `service/http/metrics.py` by `python -m docs.tables`; do",
            "not edit by hand. How to read them: [Monitoring](monitoring.md).",
            "",
            *table(("metric", "type", "labels", "what it tells"), rows),
            "",
        ]
    )


def _default(value: object) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.15g}" if isinstance(value, int | float) else f"`{value}`"


def table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines]


if __name__ == "__main__":
    for name, text in pages().items():
        if (HERE / name).read_text() != text:
            (HERE / name).write_text(text)
            print(f"wrote docs/{name}")
