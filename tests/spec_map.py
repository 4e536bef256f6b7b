"""Print each rule of the API with the test that checks it, from the markers `@pytest.mark.rule("...")`.

python -m tests.spec_map
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent


def rules() -> Iterator[tuple[str, str]]:
    """Yield each rule with its test: `tests/FILE.py`, or `tests/FILE.py::test`."""
    for file in sorted(TESTS.rglob("test_*.py")):
        path = file.relative_to(TESTS.parent).as_posix()
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    for decorator in node.decorator_list:
                        yield from ((rule, f"{path}::{node.name}") for rule in _marked(decorator))
                case ast.Assign(targets=[ast.Name(id="pytestmark")]):
                    yield from ((rule, path) for rule in _marked(node.value))


def _marked(marks: ast.expr) -> Iterator[str]:
    for node in ast.walk(marks):
        match node:
            case ast.Call(func=ast.Attribute(attr="rule"), args=[ast.Constant(value=str(rule))]):
                yield rule


def table() -> str:
    rows = (f"| {rule} | `{test}` |" for rule, test in rules())
    return "\n".join(["| Rule | Test |", "|---|---|", *rows])


if __name__ == "__main__":
    print(table())
