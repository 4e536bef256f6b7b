"""The site is built without a warning, each of its links leads somewhere, and it needs no network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page as Tab

from agentsvc_nb.cli import docs, main
from docs.site import IN_EACH_PAGE
from tests.browser.lab import launched

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(900)
SEARCHES = {
    "architecture": ["add a tool"],
    "ask": ["export", "export to Excel", "hallucination", "cite sources", "citations"],
    "background": ["stop a run"],
    "backup": ["backup", "restore", "upgrade", "uninstall", "delete data", "gdpr", "delete a person's data"],
    "client": ["streaming", "typescript"],
    "contributing": ["run a single test", "licences of dependencies"],
    "costs": ["cost", "price", "budget", "spending limit"],
    "deploy": ["kubernetes", "k8s", "helm", "docker", "ssl", "tls"],
    "errors": ["429"],
    "files": ["xlsx", "excel", "pdf"],
    "hosts": ["jupyterhub", "windows", "vs code", "colab"],
    "integrations": ["langchain"],
    "keys": ["rotate key", "how do I rotate the keys?"],
    "kernel": ["query postgres"],
    "mcp": ["mcp"],
    "models": ["ollama", "openai", "anthropic", "gpu"],
    "monitoring": ["logs", "metrics", "opentelemetry", "audit"],
    "offline": ["offline"],
    "performance": ["latency"],
    "privacy": ["private data sent to OpenAI", "outgoing firewall"],
    "retries": ["timeout", "retry", "resume"],
    "security": ["security", "vulnerability", "prompt injection"],
    "sizing": ["memory requirements", "ram", "postgres"],
    "start": ["conda", "air-gapped"],
    "tables": ["csv", "parquet"],
    "team": ["sso", "oauth", "login", "share with a colleague", "which port"],
    "testing": ["test without a model"],
    "troubleshooting": ["proxy", "CERTIFICATE_VERIFY_FAILED"],
}
"""For each page, what people type who need it."""


class Page(HTMLParser):
    """What a page has to be led to, leads to, and loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            elif name == "src" or (name == "href" and tag == "link"):
                self.loaded.add(value or "")
            elif name == "href":
                self.links.add(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "docs.site", out, out.with_name("docs.tar.xz")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return out


def test_each_link_and_anchor_leads_somewhere_and_nothing_is_loaded_from_the_net(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 80
    assert not list(broken(pages))
    loaded = {each for page in pages.values() for each in page.loaded}
    assert not [each for each in loaded if urlsplit(each).netloc]


def broken(pages: dict[Path, Page]) -> Iterator[str]:
    for path, page in pages.items():
        for link in page.links | page.loaded:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in pages[target].ids):
                yield f"{path.name}: {link}"


def test_each_page_has_a_markdown_copy_whose_links_lead_somewhere(site: Path) -> None:
    copies = [*site.rglob("*.md"), site / "llms.txt"]
    pages = {path for path in site.rglob("*.html") if 'type="text/markdown"' in path.read_text("utf-8")}
    assert {path.with_suffix(".md") for path in pages} == {*copies[:-1]}
    links = [(copy, link) for copy in copies for link in re.findall(r"\]\(([^)#\s]+)", copy.read_text("utf-8"))]
    assert [each for each in links if "://" not in each[1] and not (each[0].parent / each[1]).is_file()] == []
    assert [copy for copy in copies if re.search(r"\x1b|```\{image\}", copy.read_text("utf-8"))] == []
    listed = set(re.findall(r"^- \[.*\]\((.*)\): .", (site / "llms.txt").read_text("utf-8"), re.MULTILINE))
    assert {str(copy.relative_to(site)) for copy in copies[:-1]} - listed == {"docs/index.md"}


def test_questions_in_cells_have_no_colours_of_python(site: Path) -> None:
    cell = re.compile(r'<span class="o">%%</span><span class="k">ask</span>(.*?)</pre>', re.DOTALL)
    questions = [question for page in site.rglob("*.html") for question in cell.findall(page.read_text("utf-8"))]
    assert len(questions) > 40
    assert [question for question in questions if "<span" in question] == []


def test_the_search_shows_the_page_that_answers_first(site: Path) -> None:
    wanted = {query: f"docs/{page}.html" for page, queries in SEARCHES.items() for query in queries}
    with launched() as browser:
        tab = browser.new_page()
        tab.goto(f"{site.as_uri()}/search.html?q=agent")
        found = {query: _first_page(tab, query) for query in wanted}
    assert found == wanted


def _first_page(tab: Tab, query: str) -> str:
    """Return the page that the search shows first."""
    results = tab.locator("#search-results")
    results.evaluate("(results, query) => { results.replaceChildren(); Search.performSearch(query); }", query)
    return urlsplit(results.locator("ul.search > li > a").first.get_attribute("href") or "").path


def test_the_licences_of_what_others_made_go_along(site: Path) -> None:
    said = (site / "LICENSES.txt").read_text("utf-8").split("\n== ")
    assert len(said) == len(IN_EACH_PAGE)
    assert [part for part in said if "Copyright" not in part] == []


def test_the_command_prints_where_it_lies(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(docs, "PACKED", site.with_name("docs.tar.xz"))
    assert main(["docs", "--no-browser"]) == 0
    address = capsys.readouterr().out.strip()
    assert (tmp_path / "agentsvc-nb").as_uri() in address
    assert Path(urlsplit(address).path).is_file()
    monkeypatch.setattr(docs, "PACKED", tmp_path / "nothing")
    assert main(["docs", "--no-browser"]) == 1
    assert "`python -m docs.site` builds it" in capsys.readouterr().err
