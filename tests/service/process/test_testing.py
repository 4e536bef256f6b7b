"""`agentsvc_nb.testing`: its services end with the process that started them. And the code of docs/testing.md."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import vcr

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.service.folder import DataFolder, FolderHeld
from agentsvc_nb.testing import RunningService
from tests.support.waiting import PATIENCE_SECONDS, until

PAGE: Final = Path(__file__).parents[3] / "docs" / "testing.md"
PARENT = """
import threading
from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service

with running_service() as service, AgentService(service.api_key, service.base_url) as client:
    client.runs.start("wait 3600")
    print(service.data, service.pid, flush=True)
    threading.Event().wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_service_ends_when_its_parent_is_killed() -> None:
    """A killed parent can't stop its service; the service notices within seconds, also in the middle of a run."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            data, pid = parent.stdout.readline().split()
        finally:
            parent.kill()
    try:
        until(lambda: is_free(DataFolder(Path(data))), patience=PATIENCE_SECONDS / 2)
    except AssertionError:
        os.kill(int(pid), signal.SIGKILL)
        raise
    finally:
        shutil.rmtree(data, ignore_errors=True)


def is_free(folder: DataFolder) -> bool:
    """The lock says whether the service runs: its process may still be listed, as a zombie that nobody has reaped."""
    try:
        with folder.hold():
            return True
    except FolderHeld:
        return False


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page defines."""
    names: dict[str, Any] = {}
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec", dont_inherit=True), names)
    return names


def test_the_tests_of_the_page_pass(page: dict[str, Any], client: AgentService) -> None:
    page["test_a_file_is_written"](client)
    page["test_a_model_that_fails"](client)
    page["test_a_limit_is_reported"]()


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
