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
NAMES_IN_TEXT = frozenset({"getattr", "setattr", "hasattr", "delattr"})


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_")  # `_repr_html_` and `__name__` are protocols


def private_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each private name that is imported or read from an object, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr, node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES_IN_TEXT:
            for given in node.args[1:2]:
                if isinstance(given, ast.Constant) and isinstance(given.value, str) and is_private(given.value):
                    yield given.value, node.lineno
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            for name in ".".join(modules).split("."):
                if is_private(name):
                    yield name, node.lineno


def own_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module of ours gives: functions, classes, variables and attributes of `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            yield node.attr


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def test_no_private_name_of_another_library_is_used() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    ours = {name for tree in trees.values() for name in own_names(tree)}
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path, tree in trees.items()
        for name, line in private_names(tree)
        if name not in ours and name not in ALLOWED
    ]
    assert not found
