"""How many lines the ten programs of docs/programs.md take, and the same with other clients.

python -m tests.bench.ten_programs

Counted are lines that are neither blank nor a comment, imports included. Ours are the blocks of that page, which a test
runs; the others need accounts, and only their types are checked.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

PROGRAMS: Final = {
    "printed": "1. printed as it comes",
    "ten_questions": "2. ten questions at once",
    "instance": "3. an instance of a model",
    "file": "4. a file and a question",
    "other_process": "5. from another process",
    "cancels": "6. Ctrl-C cancels",
    "function": "7. a function as a tool",
    "thousand": "8. a thousand items",
    "errors": "9. errors, repeats, limits",
    "long_job": "10. a long job",
}
PEERS: Final = {"openai": "openai", "anthropic": "anthropic", "langgraph": "langgraph-sdk"}
HERE: Final = Path(__file__).parent
PAGE: Final = HERE.parents[2] / "docs" / "programs.md"


def lines(program: str) -> int:
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in program.splitlines())


def ours() -> list[int]:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [lines(block) for block in blocks]


def theirs(peer: str) -> list[int | None]:
    """None where it has nothing for it."""
    files = (HERE / peer / f"{name}.py" for name in PROGRAMS)
    return [lines(file.read_text("utf-8")) if file.exists() else None for file in files]


def table() -> str:
    """The table of the page."""
    mine, others = ours(), [theirs(peer) for peer in PEERS]
    rows = [["", "agentsvc_nb", *PEERS.values()]]
    for title, *found in zip(PROGRAMS.values(), mine, *others, strict=True):
        rows.append([title, *(str(count or "-") for count in found)])
    both = [sum(count for count, other in zip(mine, found, strict=True) if other) for found in others]
    sums = [sum(count or 0 for count in found) for found in others]
    rows.append(["those that both have", ", ".join(map(str, both)), *map(str, sums)])
    head, *body = (f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in rows)
    return f"{head}|{'---|' * len(rows[0])}\n{''.join(body)}"


if __name__ == "__main__":
    print(table(), end="")
