"""The tables of the page `limits.md`: each limit with the comment behind it, by the headings of its module."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType

HEADING = re.compile(r"^# (?P<title>[^(\n]+?)(?: \((?P<notes>.+)\))?$")
LIMIT = re.compile(r"^(?P<name>[A-Z_]+): Final = [^#]*(?:  # (?:(?P<source>ours|stated): )?(?P<meaning>.+))?$")
PAGE = re.compile(r'docs/(?P<path>[\w/.-]+\.md)(?: "(?P<heading>[^"]+)")?')
HEAD = ("| limit | value | what it limits | source |", "|---|---|---|---|")
TIMES = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


def sections(module: ModuleType) -> Iterator[list[str]]:
    """The lines of each heading's table. A limit without a comment is an error."""
    for block in re.split(r"\n\n(?=# )", inspect.getsource(module))[1:]:
        heading, *lines = block.splitlines()
        title = HEADING.match(heading)
        assert title, heading
        notes = title["notes"] or ""
        rows = [_row(module, limit, notes) for line in lines if (limit := LIMIT.match(line))]
        links = ", ".join(_link(found) for found in PAGE.finditer(notes))
        yield ["", f"## {title['title']}", *(("", f"See {links}.") if links else ()), "", *HEAD, *rows]


def _row(module: ModuleType, limit: re.Match[str], notes: str) -> str:
    name, meaning = limit["name"], limit["meaning"]
    if not meaning:
        raise ValueError(f"{name}: say behind it what it limits")
    source = limit["source"] or ("ours" if notes.startswith("ours") else "stated")
    return f"| `{name}` | {_value(name, getattr(module, name))} | {PAGE.sub(_link, meaning)} | {source} |"


def _value(name: str, value: float) -> str:
    """
    >>> _value("UPLOAD_TTL_SECONDS", 86_400), _value("CALL_RESULT_BYTES", 1_048_576), _value("STEPS_MAX", 1_500)
    ('86,400 (1 day)', '1,048,576 (1 MiB)', '1,500')
    """
    if name.endswith("_SECONDS"):
        for seconds, unit in TIMES:
            if value >= seconds and value % seconds == 0:
                count = value / seconds
                return f"{value:,.15g} ({count:g} {unit.removesuffix('s') if count == 1 else unit})"
    if name.endswith("_BYTES"):
        for size, unit in ((1_000_000, "MB"), (1_048_576, "MiB"), (1_024, "KiB"), (1_000, "KB")):
            if value >= size and value % size == 0:
                return f"{value:,} ({value // size:,} {unit})"
    return f"{value:,}"


def _link(found: re.Match[str]) -> str:
    anchor = "#" + re.sub(r"[^\w -]", "", found["heading"].lower()).replace(" ", "-") if found["heading"] else ""
    return f"[{found['heading'] or found['path']}]({found['path']}{anchor})"
