"""The docs match the code: generated tables, rules with their tests, links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from docs import tables
from tests import spec_map

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def test_a_table_is_as_the_wire_has_it() -> None:
    names = ("errors.md", "routes.md", "limits.md", "settings.md", "metrics.md", "tools.md", "magics.md", "cli.md")
    pages = tables.pages()
    changed = [name for name in names if (DOCS / name).read_text() != pages[name]]
    assert not changed, "run `python -m docs.tables`"


def test_each_alert_has_a_row() -> None:
    groups = yaml.safe_load((DOCS / "deploy/alerts.yaml").read_text())["groups"]
    alerts = [rule["alert"] for group in groups for rule in group["rules"]]
    section = (DOCS / "monitoring.md").read_text().partition("## Alerts\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.M) == alerts


def test_the_spec_map_has_each_rule_once_as_a_sentence() -> None:
    rules = [rule for rule, _ in spec_map.rules()]
    assert len(rules) > 200
    assert len(rules) == len(set(rules))
    assert [rule for rule in rules if not rule.endswith(".") or "|" in rule] == []


def test_links_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())]
    assert [link for page, link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_cited_rules_are_there() -> None:
    cited = re.compile(r'docs/api/([\w-]+\.md)(?:\s+(?:(?:#|--)\s+)?"([^"]+)")?')
    files = [f for tree in ("agentsvc_nb", "tests") for kind in ("*.py", "*.sql") for f in (ROOT / tree).rglob(kind)]
    found = [(file, *match) for file in files for match in cited.findall(file.read_text())]
    assert len(found) > 100
    for file, page, heading in found:
        headings = re.findall(r"^#+ (.*)$", (ROOT / "docs/api" / page).read_text(), re.M)
        assert not heading or heading in {each.replace("`", "") for each in headings}, f'{file}: {page} "{heading}"'
