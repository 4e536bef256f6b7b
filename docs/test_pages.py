"""Which tests do not run on PostgreSQL, from their own marks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"

ROOMS = """\
`.ci/run` gives it `tests/service/api`, with contents in S3, and `.ci/nightly` `tests/faults`. The other folders start
no service, or ask one by the same routes.

`tests/faults` has no run with `--blobs s3`: its engines die and fail at a write to a folder. What a bucket adds, a
server that is away, cuts off or refuses, is in `tests/faults/test_s3_blobs.py` and `tests/faults/test_s3_away.py`.
"""
"""Why what has no mark is not run there, or not on S3."""


def not_on_postgres() -> str:
    """The page `not-on-postgres.md`."""
    rows = [row for path in sorted(TESTS.rglob("test_*.py")) for row in _marked(path)]
    return (
        "# Tests that do not run on PostgreSQL\n\nWritten by `python -m docs.tables` from the tests' own marks, "
        "`pytest.mark.sqlite(reason)`; `--database postgres` leaves these out\n"
        "and runs whatever else it is given ([contributing](contributing.md)).\n\n"
        f"{ROOMS}\n"
        "| Test | Why not |\n|---|---|\n" + "".join(f"| `{name}` | {why} |\n" for name, why in rows)
    )


def _marked(path: Path) -> Iterator[tuple[str, str]]:
    """The marked tests of a module with the reasons of their marks."""
    module = path.relative_to(TESTS.parent).as_posix()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            name, marks = f"{module}::{node.name}", node.decorator_list
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            listed = isinstance(node.value, ast.List)
            name, marks = module, node.value.elts if listed else [node.value]  # type: ignore[attr-defined]
        else:
            continue
        for mark in marks:
            if ast.unparse(mark).startswith("pytest.mark.sqlite"):
                yield name, _reason(name, mark)


def _reason(name: str, mark: ast.expr) -> str:
    if isinstance(mark, ast.Call) and mark.args and isinstance(mark.args[0], ast.Constant):
        return str(mark.args[0].value)
    raise ValueError(f"{name}: give the mark `sqlite` a reason")
