"""A language model is heavy: it is loaded by the first run that needs it, and what it lacks is told before."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb.service.settings import Settings
from agentsvc_nb.service.work import agents
from agentsvc_nb.service.work.agents.language import chosen

LOADED = """
import sys
from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.settings import Settings
create_app(Settings.from_env({}, data=sys.argv[1], model="openai-chat:x"), instance="i")
print([name for name in ("pydantic_ai", "openai", "duckdb", "matplotlib", "xllamacpp") if name in sys.modules])
"""


def test_a_service_with_a_language_model_starts_without_loading_it(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("model", "lacking", "said"),
    [
        ("openai-chat:x", "pydantic_ai", "pip install 'agentsvc-nb[agents]'"),
        ("gguf:/nowhere/x.gguf", "xllamacpp", "pip install 'agentsvc-nb[local-model]'"),
        ("gguf:/nowhere/x.gguf", None, "agentsvc model pull smollm2"),
    ],
)
def test_what_is_missing_is_one_sentence(
    model: str, lacking: str | None, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(chosen, "find_spec", lambda name: None if name == lacking else found(name))
    settings = Settings(tmp_path, model=model)
    fault = agents.fault(settings)
    assert fault is not None
    assert said in fault
    with pytest.raises(ValueError, match=r"pip install|model pull"):
        agents.choose(model, settings)
