"""A language model is heavy: that of a server of one's own is loaded by the first run that needs it. What any model
lacks is told before, and what could be had."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb import agents
from agentsvc_nb.agents.language import agent as answering
from agentsvc_nb.agents.language import model_choice
from agentsvc_nb.cli import main
from agentsvc_nb.settings import Settings
from tests.unit.service.site import as_json, serving

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
        ("groq:x", None, "pip install 'pydantic-ai-slim[groq]'"),
        ("antropic:x", None, "is not known: use anthropic:x if you mean that, or use openai-chat:NAME"),
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
    fault = agents.why_not_configured(settings)
    assert fault is not None
    assert said in fault
    with pytest.raises(ValueError, match=re.escape(said)):
        agents.choose(model, settings)


def gguf(path: Path, template: str | None) -> Path:
    """Write a GGUF file without tensors, which has this chat template."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    tokens = struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    found = [text("general.size") + struct.pack("<II", 4, 7), text("tokenizer.ggml.tokens") + tokens]
    if template is not None:
        found.append(text("tokenizer.chat_template") + struct.pack("<I", 8) + text(template))
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(found)) + b"".join(found))
    return path


PLAIN, WITH_TOOLS = "{% for message in messages %}", "{% if tools %}{{ tools }}{% endif %}"


@pytest.mark.parametrize(
    ("name", "template", "said"),
    [
        ("chat.gguf", WITH_TOOLS, None),
        ("chat.gguf", PLAIN, "the chat template of gguf:chat.gguf does not support tools"),
        ("chat.gguf", None, "gguf:chat.gguf is a base model"),
        ("qwen3-4B-Base.Q4.gguf", WITH_TOOLS, "gguf:qwen3-4B-Base.Q4.gguf is a base model"),
    ],
)
def test_the_chat_template_of_a_file_says_whether_its_model_answers_and_calls_tools(
    name: str, template: str | None, said: str | None, tmp_path: Path
) -> None:
    settings = Settings(tmp_path, model=f"gguf:{gguf(tmp_path / name, template)}", model_tools=True)
    fault = agents.why_not_configured(settings)
    assert (fault is None) if said is None else said in str(fault)


@pytest.mark.parametrize(
    ("capabilities", "template", "wanted", "offered", "said"),
    [
        (["completion", "tools", "vision"], WITH_TOOLS, None, (True, True), None),
        (["completion"], PLAIN, None, (False, False), None),
        (["completion"], PLAIN, True, None, "the chat template of ollama:it does not support tools"),
        (["completion"], "{{ .Prompt }}", None, None, "ollama:it is a base model"),
    ],
)
def test_ollama_says_whether_a_model_answers_sees_and_calls_tools(
    capabilities: list[str],
    template: str,
    wanted: bool | None,
    offered: tuple[bool, bool] | None,
    said: str | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with serving() as ollama:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{ollama.url}/v1")
        ollama.pages["/api/show"] = as_json({"capabilities": capabilities, "template": template})
        settings = Settings(tmp_path, model="ollama:it", model_tools=wanted)
        fault = agents.why_not_configured(settings)
        assert (fault is None) if said is None else said in str(fault)
        if offered is not None:
            agent = agents.choose("ollama:it", settings)
            assert isinstance(agent, answering.Language)
            facts = asyncio.run(agent.facts())
            assert (facts.uses_tools, facts.sees_images) == offered


def test_a_model_that_cannot_answer_is_refused_at_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTSVC_MODEL", "nobody:model")
    assert main(["serve", "--data", str(tmp_path), "--port", "0"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "nobody:model is not known" in said.err


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
    assert "--model anthropic:claude-sonnet-4-6 (ANTHROPIC_API_KEY" in said[2]
    assert "secret" not in "".join(said)
    with serving() as ollama:
        monkeypatch.setattr(model_choice, "OLLAMA_URL", f"{ollama.url}/v1")
        assert model_choice.startup_hint({}) is None
        ollama.pages["/v1/models"] = as_json({"data": [{"id": "qwen3:8b"}]})
        assert "--model ollama:qwen3:8b" in (model_choice.startup_hint({}) or "")
        ollama.pages["/v1/models"] = as_json({"data": [{"id": "\x1b[2J"}]})
        assert model_choice.startup_hint({}) is None
