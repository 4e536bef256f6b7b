"""A script for the `scripted` agent that leaves tables."""

from __future__ import annotations

import json

SCHEMA = {
    "title": "Revenue by month",
    "fields": [{"name": "month", "type": "date", "by": "month"}, {"name": "revenue", "type": "number", "unit": "€"}],
    "missingValues": [""],
    "rows": 2,
    "more": False,
}
CSV = "month,revenue\r\n2025-01-01,12.50\r\n2025-02-01,\r\n"


def leaving(*names: str) -> str:
    """A script that leaves a table of each name."""
    calls = []
    for name in names:
        files = {f"results/{name}.csv": CSV, f"results/{name}.schema.json": json.dumps(SCHEMA)}
        given = {"steps": 0, "files": files, "output": [f"table_{name}", "table"]}
        calls.append(f"call echo_job {json.dumps(given)}")
    return "\n".join([*calls, "write notes.csv a", "say done"])
