"""Our code uses no private name of another library: any release of it may take such a name away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "agentsvc_nb"
ALLOWED = {
    # The standard library documents these, or has no other way.
    "_exit": "os._exit",
    "_shutdown": "threading: waits for the threads of a program in a forked child, as the end of an interpreter does",
    "_thread": "the module for threads without a handle",
    "_actions": "argparse has no public list of its arguments",
    "_option_string_actions": "argparse",
    "_SubParsersAction": "argparse",
    # Jupyter and lxml
    "_allow_stdin": "ipykernel says nowhere else whether its host can ask for input",
    "_Element": "the type of an element that lxml documents",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_")  # `_repr_html_` and `__name__` are protocols


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each private name that is imported, read or given, with its line; 0 for a name that the module gives."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, 0
            case ast.Name(id=name, ctx=ast.Store()):
                yield name, 0
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name, 0
            case ast.Attribute(attr=name):
                yield name, node.lineno
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                yield name, node.lineno
            case ast.Import() | ast.ImportFrom():
                modules = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                yield from ((name, node.lineno) for name in ".".join(modules).split("."))


def test_no_private_name_of_another_library_is_used() -> None:
    files = list(PACKAGE.rglob("*.py"))
    found = [(file, *each) for file in files for each in names(ast.parse(file.read_text("utf-8")))]
    ours = {name for _, name, line in found if not line}
    foreign = [each for each in found if is_private(each[1]) and each[1] not in ours]
    assert [each for each in foreign if each[1] not in ALLOWED] == []
