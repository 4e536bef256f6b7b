"""The code of docs/integrations.md runs, each section by itself, against a real service."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "integrations.md").read_text()
LOAD: Final = "%load_ext agentsvc_nb"
WEB: Final = "Web frameworks (Starlette, FastAPI)"


def blocks(heading: str, language: str = "python") -> list[str]:
    """The code of a section, up to the next heading of any level."""
    (section,) = re.findall(rf"^#+ {re.escape(heading)}$(.*?)(?=^##+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def run(service: RunningService, *headings: str) -> dict[str, Any]:
    """The names that the sections' blocks define, in order."""
    names: dict[str, Any] = {"client": AgentService(service.api_key, service.base_url), "key": service.api_key}
    for heading in headings:
        for block in blocks(heading):
            exec(compile(block, f"integrations.md, {heading}", "exec", dont_inherit=True), names)
    return names


def test_the_page_has_no_other_blocks() -> None:
    """None that no test below runs."""
    tested = ("Use our tools in your own agent", "pydantic-ai", "LangChain", "polars", WEB, "MCP clients")
    assert PAGE.count("```python\n") == sum(len(blocks(heading)) for heading in tested) == len(tested)


@pytest.fixture
def loop() -> Iterator[None]:
    """Closes the event loop that pydantic-ai's `run_sync` leaves to the thread."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield
    asyncio.set_event_loop(None)


@pytest.mark.usefixtures("loop")
def test_pydantic_ai(service: RunningService, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(service, "Use our tools in your own agent", "pydantic-ai")
    offered = {tool.name for tool in names["tools"]}
    assert {"create_images", "review_copy"} <= offered
    assert "send_email" not in offered
    assert '"create_images":' in (said := capsys.readouterr().out)
    assert ".png" in said, "what the tool made is told"


def test_langchain(service: RunningService, capsys: pytest.CaptureFixture[str]) -> None:
    run(service, "Use our tools in your own agent", "LangChain")
    assert capsys.readouterr().out == "4 words\n"


def test_polars(service: RunningService, capsys: pytest.CaptureFixture[str]) -> None:
    run(service, "polars")
    assert capsys.readouterr().out == "['too dear!', 'too late!']\n249 ['completed']\n"


def test_a_web_service(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    names = run(service, WEB)
    app = names["app"]

    async def visit() -> str:
        transport = httpx.ASGITransport(app)
        async with names["lifespan"](app), httpx.AsyncClient(transport=transport, base_url="http://web") as visitor:
            return (await visitor.get("/ask", params={"q": "say Autumn\nsay is near."})).text

    assert asyncio.run(visit()) == "Autumn\nis near.\n"


def test_an_mcp_client(service: RunningService, capsys: pytest.CaptureFixture[str]) -> None:
    run(service, "MCP clients")
    assert "'ask'" in capsys.readouterr().out
