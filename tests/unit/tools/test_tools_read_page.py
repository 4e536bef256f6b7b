"""`read_page`: a web page as Markdown, through the guard."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import WorkFailure
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace
from tests.unit.service.site import Site, html

PAGE = """<!doctype html><html><head><title>Tents
 and more</title><style>p {}</style></head><body>
<h1>Pack <em>light</em></h1><p>All   our <a href="tents?a=1">tents</a> and <a href="javascript:x()">this</a>.
<table><tr><th>Tent</th><th>Price</th></tr><tr><td>A</td><td>99</td></tr></table>
<noscript>no</noscript><img src="x.png" alt="no"><p>End &amp; more"""
MARKDOWN = """# Pack light

All our [tents]({url}/shop/tents?a=1) and this.

| Tent | Price |
| --- | --- |
| A | 99 |

End & more"""


def read(folder: Path, site: Site, path: str) -> str:
    tool = catalog.add_workspace_tools({}, Settings(Path("data"), fetch_allow=(site.authority,)))["read_page"]
    given_ = tool.Input.model_validate({"url": site.url + path})
    assert tool.fetches(given_) == (site.url + path,)
    outcome = asyncio.run(tool.run(given_, MemoryToolContext(MemoryWorkspace(folder / "chat"))))
    return str(outcome.content[0]["text"])


def test_a_page_is_markdown_with_whole_links(site: Site, tmp_path: Path) -> None:
    site.pages["/shop/"] = html(PAGE)
    head, _, text = read(tmp_path, site, "/shop/").partition("\n\n")
    assert head == f"Tents and more, {site.url}/shop/"
    assert text == MARKDOWN.replace("{url}", site.url)


@pytest.mark.parametrize(("path", "code"), [("/scripts", "no_text"), ("/none", "fetch_failed")])
def test_what_is_no_page_is_told(site: Site, tmp_path: Path, path: str, code: str) -> None:
    site.pages["/scripts"] = html("<div id=app></div><script>x()</script>")
    with pytest.raises(WorkFailure) as failed:
        read(tmp_path, site, path)
    assert failed.value.code == code
