"""A language model is heavy: that of a server of one's own is loaded by the first run that needs it. What any model
lacks is told before, and what could be had."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import KnownModelName

from agentsvc_nb import agents
from agentsvc_nb.agents.language import agent as answering
from agentsvc_nb.agents.language import model_choice
from agentsvc_nb.settings import Settings
from tests.unit.service.site import as_json, serving

ROOT = Path(__file__).parents[3]
LOADED = """
import sys
from agentsvc_nb.service.app import create_app
from agentsvc_nb.settings import Settings
create_app(Settings.from_env({}, data=sys.argv[1], model="openai-chat:x", model_url="http://127.0.0.1:1"), instance="i")
print([name for name in ("pydantic_ai", "openai", "duckdb", "matplotlib", "xllamacpp", "PIL") if name in sys.modules])
"""


def test_a_service_with_a_language_model_starts_without_loading_it_or_what_draws(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("model", "lacking", "said"),
    [
        ("openai-chat:x", "pydantic_ai", "pip install 'agentsvc-nb[agents]'"),
        ("openai-chat:x", None, "set OPENAI_API_KEY"),
        ("anthropic:x", None, "set ANTHROPIC_API_KEY"),
        ("groq:x", None, "pip install 'pydantic-ai-slim[groq]'"),
        ("nobody:x", None, "of no known provider"),
        ("antropic:x", None, "of no known provider: did you mean anthropic:x? Name that, or openai-chat:NAME"),
        ("gguf:/nowhere/x.gguf", "xllamacpp", "pip install 'agentsvc-nb[local-model]'"),
        ("gguf:/nowhere/x.gguf", None, "agentsvc model pull smollm2"),
    ],
)
def test_what_is_missing_is_one_sentence(
    model: str, lacking: str | None, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = importlib.util.find_spec
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(answering, "find_spec", lambda name: None if name == lacking else found(name))
    settings = Settings(tmp_path, model=model)
    fault = agents.fault(settings)
    assert fault is not None
    assert said in fault
    assert len(fault) < 200
    with pytest.raises(ValueError, match=re.escape(said)):
        agents.choose(model, settings)


def test_the_claudes_that_are_suggested_are_known_to_the_library() -> None:
    written = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    texts = [file.read_text() for file in (*written, *ROOT.glob("agentsvc_nb/**/*.py"))]
    suggested = {name for text in texts for name in re.findall(r"\banthropic:claude[\w.-]*\w", text)}
    assert suggested
    assert suggested <= set(typing.get_args(KnownModelName.__value__))


def test_a_model_that_cannot_answer_is_refused_at_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agentsvc_nb", "serve", "--data", str(tmp_path), "--port", "0"]
    done = subprocess.run(
        command, env={**os.environ, "AGENTSVC_MODEL": "nobody:model"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "The model nobody:model is of no known provider" in line
    assert done.stdout == ""


def test_at_start_a_key_and_an_ollama_are_named_and_nothing_is_switched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "agentsvc_nb", "serve", "--data", str(tmp_path), "--port", "0"]
    env = {**os.environ, "ANTHROPIC_API_KEY": "sk-ant-secret"}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        process.kill()
    assert "agent: offline" in said[0]
    assert "start with --model anthropic:claude-sonnet-4-6 (ANTHROPIC_API_KEY is set)" in said[2]
    assert "secret" not in "".join(said)
    with serving() as ollama:
        monkeypatch.setattr(model_choice, "OLLAMA_URL", f"{ollama.url}/v1")
        assert model_choice.hint({}) is None
        ollama.pages["/v1/models"] = as_json({"data": [{"id": "qwen3:8b"}]})
        assert model_choice.hint({}) == "For a language model, start with --model ollama:qwen3:8b (Ollama runs here)."
        unusable: tuple[Any, ...] = ({"data": []}, {"data": [{"id": "\x1b[2J"}]}, [], "x", {"data": [{"id": "a b"}]})
        for strange in unusable:
            ollama.pages["/v1/models"] = as_json(strange)
            assert model_choice.hint({}) is None, strange
