"""Prints statistics of the package: modules, their size, imports, comments and names, and the calls of one `%%ask`.

    python -m tests.unit.repository.structure [--calls] [FOLDER]

FOLDER is another checkout to measure. `--calls` also runs one `%%ask` against a service and counts the calls of the
package's functions in the kernel; this takes some seconds.
"""

from __future__ import annotations

import ast
import io
import json
import re
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGE = "agentsvc_nb"
CRUMB_LINES = 70
LONG_MODULE = 400
LONG_FUNCTION = 40
FULL_FOLDER = 12


@dataclass(frozen=True)
class Module:
    """One module, as read from its source. `lines`, `code`, `comments` and `imports` are counts."""

    name: str
    tree: ast.Module
    lines: int
    code: int
    comments: int
    imports: int

    @property
    def classes(self) -> list[str]:
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    @property
    def functions(self) -> list[tuple[str, int]]:
        """Name and lines of each function and method."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        found = [node for node in ast.walk(self.tree) if isinstance(node, kinds)]
        return [(node.name, (node.end_lineno or node.lineno) - node.lineno + 1) for node in found]

    @property
    def hands_on(self) -> bool:
        """True if it only re-exports names of other modules."""
        rest = [node for node in self.tree.body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)]
        is_list = [isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" for node in rest]
        return bool(self.imports) and all(is_list)


def module(path: Path, root: Path) -> Module:
    text = path.read_text()
    tree = ast.parse(text)
    name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    written = [node for node in imports if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    return Module(name, tree, text.count("\n"), *_code_and_comments(text, tree), len(written))


def _code_and_comments(text: str, tree: ast.Module) -> tuple[int, int]:
    """The number of lines of code (without docstrings), and of comments."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = sum(token.type == tokenize.COMMENT and "noqa" not in token.string for token in tokens)
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines = {line for token in tokens if token.type not in empty for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines), comments


def importers(modules: list[Module]) -> dict[str, set[str]]:
    """The names of the modules that import each module, by its name."""
    names = {each.name for each in modules}
    found: dict[str, set[str]] = defaultdict(set)
    for each in modules:
        for node in ast.walk(each.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    found[whole if whole in names else node.module].add(each.name)
    return found


def figures(root: Path) -> dict[str, object]:
    """The rows of the printed table, by their label."""
    modules = [module(path, root) for path in sorted((root / PACKAGE).rglob("*.py"))]
    users = importers(modules)
    sizes = [each.lines for each in modules]
    code = sum(each.code for each in modules)
    crumbs = [each.name for each in modules if each.lines < CRUMB_LINES and len(users[each.name]) == 1]
    classes = Counter(name for each in modules for name in each.classes)
    packages = {each.name.rpartition(".")[0] for each in modules}
    folders = Counter(each.name.rpartition(".")[0] for each in modules if each.name not in packages)
    long = [f"{each.name}.{name} ({size})" for each in modules for name, size in each.functions if size > LONG_FUNCTION]
    return {
        "modules": len(modules),
        "lines": sum(sizes),
        "lines a module, median": round(statistics.median(sizes)),
        "lines a module, most": max(sizes),
        f"modules over {LONG_MODULE} lines": sum(size > LONG_MODULE for size in sizes),
        "import statements in 100 lines of code": round(100 * sum(each.imports for each in modules) / code, 1),
        "comments in 100 lines of code": round(100 * sum(each.comments for each in modules) / code, 1),
        f"modules under {CRUMB_LINES} lines with one importer": len(crumbs),
        "modules that only hand on names": [each.name for each in modules if each.hands_on],
        "class names that stand twice": sorted(name for name, count in classes.items() if count > 1),
        f"functions over {LONG_FUNCTION} lines": long,
        f"folders over {FULL_FOLDER} modules": [f"{name} ({n})" for name, n in folders.items() if n > FULL_FOLDER],
    }


COUNTING = """
import atexit, collections, json, os, sys, threading
_calls, _ours = collections.Counter(), os.path.join({root!r}, {package!r}) + os.sep
def _count(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith(_ours):
        _calls[f"{{frame.f_code.co_filename[len(_ours):]}}:{{frame.f_code.co_qualname}}"] += 1
def _begin():
    _calls.clear(); threading.setprofile(_count); sys.setprofile(_count)
def _told(path):
    sys.setprofile(None); threading.setprofile(None)
    open(path, "w").write(json.dumps(_calls))
"""

ASKING = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config({{"HistoryManager": {{"enabled": False}}}}))
shell.run_cell("%load_ext agentsvc_nb").raise_error()
shell.run_cell_magic("ask", "--fresh", "say warm")
_begin()
shell.run_cell_magic("ask", "--fresh", "say one\\nwrite report.md # Report")
_told({path!r})
"""


def calls(root: Path) -> Counter[str]:
    """How often each function of the package is called in the kernel for one `%%ask` that streams and writes a file."""
    sys.path.insert(0, str(root))
    from agentsvc_nb.testing import running_service

    with running_service() as service, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.json"
        program = COUNTING.format(root=str(root), package=PACKAGE) + ASKING.format(path=str(path))
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": folder,
            "PYTHONPATH": str(root),
            "SERVICE_API_KEY": service.api_key,
            "AGENTSVC_BASE_URL": service.base_url,
        }
        subprocess.run([sys.executable, "-c", program], env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return Counter(json.loads(path.read_text()))


def main(arguments: list[str]) -> None:
    folders = [argument for argument in arguments if not argument.startswith("-")]
    root = Path(folders[0]).resolve() if folders else ROOT
    for name, value in figures(root).items():
        if isinstance(value, list):
            value = f"{len(value)}" + (f": {', '.join(map(str, value[:40]))}" if value else "")
        print(f"{name:66} {value}")
    if "--calls" in arguments:
        counted = calls(root)
        rooms = Counter(re.split("[/:]", name)[0] for name in counted.elements())
        print(
            f"{'calls of our functions in the kernel for one %%ask':66} {counted.total()} of {len(counted)} functions"
        )
        print(f"{'':66} {', '.join(f'{room} {count}' for room, count in rooms.most_common())}")


if __name__ == "__main__":
    main(sys.argv[1:])
