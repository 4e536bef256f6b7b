"""The code of docs/testing.md."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import vcr

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.testing import RunningService

PAGE: Final = Path(__file__).parents[3] / "docs" / "testing.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page defines."""
    names: dict[str, Any] = {}
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec", dont_inherit=True), names)
    return names


def test_the_tests_of_the_page_pass(page: dict[str, Any], client: AgentService) -> None:
    tests = {name: test for name, test in page.items() if name.startswith("test_")}
    del tests["test_a_limit_is_reported_by_respx"]  # which is not installed
    for test in tests.values():
        test(*[client] * len(inspect.signature(test).parameters))
    assert len(tests) == 3


def test_a_cassette_replaces_the_service(
    page: dict[str, Any], service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for key, url in ((service.api_key, service.base_url), ("svc_sk_other", "http://127.0.0.1:9")):
        monkeypatch.setenv("SERVICE_API_KEY", key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", url)
        assert page["ask_for_prices"]() == "The jacket costs 129 euros."
    assert service.api_key not in Path("prices.yaml").read_text()


def test_streams_and_downloads_are_recorded(page: dict[str, Any], service: RunningService, tmp_path: Path) -> None:
    recorder, cassette = page["recorder"], tmp_path / "stream.yaml"

    async def use(key: str, url: str) -> list[object]:
        async with AsyncAgentService(key, url, transport=httpx.AsyncHTTPTransport()) as client:
            async with await client.runs.start_and_stream("say one\nwrite a.bin x\nanswer two") as stream:
                types = [event.type async for event in stream]
                run = await stream.final_status()
            return [types, run.output, await client.files.download("a.bin", chat=run.chat)]

    with recorder.use_cassette(cassette):
        recorded = asyncio.run(use(service.api_key, service.base_url))
    with recorder.use_cassette(cassette, record_mode="none"):
        assert asyncio.run(use("svc_sk_other", "http://127.0.0.1:9")) == recorded
    assert recorded[1] == "two"


def test_a_request_that_was_not_recorded(page: dict[str, Any], tmp_path: Path) -> None:
    with (
        page["recorder"].use_cassette(tmp_path / "empty.yaml", record_mode="none"),
        AgentService("svc_sk_x", transport=httpx.HTTPTransport(), max_retries=0) as client,
        pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException),
    ):
        client.tools.list()


def test_a_replayed_conversation_ends_quietly_with_its_process(tmp_path: Path) -> None:
    (tmp_path / "recorded.txt").write_text("ask Ready?\nwrite a.txt a\nsay Yes.\n")
    code = """
from agentsvc_nb import AgentService
from agentsvc_nb.testing import replay_conversation

replay_conversation("recorded.txt")
print(AgentService().runs.start("Ready?", sync=True).output)
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("Yes.\n", "")
