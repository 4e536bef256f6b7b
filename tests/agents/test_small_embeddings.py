"""A real model of embeddings: all-MiniLM-L6-v2 in its own process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock

from agentsvc_nb import AgentService
from agentsvc_nb.agents.offline.agent import Offline
from agentsvc_nb.agents.offline.embeddings import choose_embeddings
from agentsvc_nb.cli.models import pull
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import running_service
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

HANDBOOK = """# Handbook

Full-time staff receive 29 days of paid leave per calendar year.

Laptops are replaced every four years.

In case of illness, call your team lead before nine.

The assembly point is the car park behind hall C.
"""


@pytest.fixture(scope="module")
def weights() -> Path:
    """In the user's cache: pulled by the first who asks on this machine, its SHA-256 looked at each time."""
    cache = platformdirs.user_cache_path("agentsvc-nb-tests")
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "pull.lock"):
        return pull(cache / "data", "minilm")


def test_paraphrases_find_their_passages_and_the_service_stays_small(weights: Path, tmp_path: Path) -> None:
    with (
        running_service("offline", embedding_file=str(weights)) as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        chat = client.ask("hello", chat="new").chat
        (tmp_path / "handbook.md").write_text(HANDBOOK)
        client.files.upload(tmp_path / "handbook.md", chat=chat)
        for question, found in [
            ("How long is everybody's annual holiday?", "29 days of paid leave"),
            ("What if I have the flu?", "call your team lead"),
            ("How old do notebooks get?", "replaced every four years"),
        ]:
            answer = client.ask(question, chat=chat).answer
            assert found in answer.split("> ")[1], question
        loaded = Path(f"/proc/{service.pid}/maps")
        assert not loaded.exists() or "onnxruntime" not in loaded.read_text()


def test_a_file_that_is_no_model_is_told_and_the_answer_goes_on(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    turn = MemoryRunContext("What if I have the flu?", MemoryWorkspace(tmp_path / "files", {"handbook.md": HANDBOOK}))
    asyncio.run(Offline(choose_embeddings(Settings(tmp_path, embedding_file=broken))).run(turn))
    [(code, message)] = turn.of("warn")
    assert code == "meanings_not_compared"
    assert "broken.onnx could not be run" in message
    assert turn.said
