"""The docs say what is: tables rendered from `wire/`, tests that exist, one version, links that lead somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from agentsvc_nb.wire.runs import EventType
from docs import tables

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def test_a_table_is_as_the_wire_has_it() -> None:
    names = ("errors.md", "routes.md", "limits.md", "settings.md", "metrics.md", "tools.md", "magics.md", "cli.md")
    pages = tables.pages()
    changed = [name for name in names if (DOCS / name).read_text() != pages[name]]
    assert not changed, "run `python -m docs.tables`"


def test_the_types_of_events_are_those_of_the_wire() -> None:
    _, _, types = (DOCS / "api" / "events.md").read_text().partition("## Types")
    rows = re.findall(r"^\| `([a-z._]+)` \|", types.partition("\n## ")[0], re.MULTILINE)
    assert sorted(rows) == sorted(get_args(EventType))


def test_the_tests_that_the_spec_map_names_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (DOCS / "spec-map.md").read_text()))
    assert len(named) > 20
    for file, function in named:
        assert (ROOT / file).is_file(), file
        assert not function or f"def {function}(" in (ROOT / file).read_text(), f"{file}::{function}"


def test_links_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())]
    assert [link for page, link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_messages_of_troubleshooting_are_those_of_the_code() -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    shown = [message for _, message in re.findall(r"^\| (`+)(.+?)\1 \|", page, re.MULTILINE)]
    assert len(shown) > 50
    texts = [text for path in (ROOT / "agentsvc_nb").rglob("*.py") for text in texts_of(path)]
    known = "\n".join(re.sub(r"\{[\w.]*\}", "…", text) for text in texts)
    missing = [each for each in shown if not re.search(".*".join(map(re.escape, each.split("…"))), known)]
    assert not missing


def texts_of(path: Path) -> Iterator[str]:
    """The texts in a module, with `…` for what is put into them."""
    tree = ast.parse(path.read_text())
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def test_no_page_names_a_path_of_somebodys_machine() -> None:
    for page in PAGES:
        assert not re.search(r"(?<![\w.])/(work|root|home)/", page.read_text()), page


def test_cited_rules_are_there() -> None:
    cited = re.compile(r'docs/api/([\w-]+\.md)(?:\s+(?:(?:#|--)\s+)?"([^"]+)")?')
    files = [f for tree in ("agentsvc_nb", "tests") for kind in ("*.py", "*.sql") for f in (ROOT / tree).rglob(kind)]
    found = [(file, *match) for file in files for match in cited.findall(file.read_text())]
    assert len(found) > 100
    for file, page, heading in found:
        headings = re.findall(r"^#+ (.*)$", (ROOT / "docs/api" / page).read_text(), re.M)
        assert not heading or heading in {each.replace("`", "") for each in headings}, f'{file}: {page} "{heading}"'
