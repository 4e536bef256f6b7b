"""Switch the embedded service to another model (docs/models.md). Before the switch, install the model's package, ask
the user for its key, and ask the model a test question. Switch only if the model answers.

The notebook and the command line each provide a `Dialogue` for questions to the user.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb import __version__, clock, embedded
from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.key_forms import A_NAME_IS_WANTED, LOOKS_LIKE_KEY, looks_like_key
from agentsvc_nb.language_models.catalog import current_model
from agentsvc_nb.language_models.keys import MODEL_KEY, PLACES, ModelKeys
from agentsvc_nb.language_models.prices import PER, price_text
from agentsvc_nb.language_models.trial import Trial, try_model
from agentsvc_nb.model_names import (
    FILE_PREFIXES,
    address_variable,
    check_model,
    model_id,
    on_own_server,
    provider_of,
)
from agentsvc_nb.service.config import MODEL, load_config, restart_command
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.setting_types import check_key
from agentsvc_nb.wire.runs import CENT, ONLY_READS

if TYPE_CHECKING:
    from agentsvc_nb.service.runs.run_records import RunRecord

AskKey = Callable[[str], str]
"""A function that prompts for a key without showing it, and returns it."""
AskYes = Callable[[str], bool]
POLL_SECONDS: Final = 0.3
BRINGS: Final = {
    "agentsvc-nb[agents]": "about 35 packages, 220 MB",
    "agentsvc-nb[local-model]": "about 40 packages, 340 MB",
}
"""What each extra adds to the base installation (docs/performance.md). With `lab` installed, it is less."""
START_SECONDS: Final = 90.0
"""The timeout in seconds for a start of the service. The library of a hosted model loads slowly on a busy machine."""
_OWN: Final = ("ollama", "gguf")
_LINE: Final = 200
TICK_SECONDS: Final = 5.0
"""The number of seconds between two progress lines of `install` while pip prints nothing."""


class SwitchError(Exception):
    """Raised if the model was not switched. `message` says why and names the current model. `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """How to talk to the user.

    Attributes:
        ask_key: prompts for a key without showing it, or None if nobody can answer.
        ask_yes: asks a yes/no question, or None if nobody can answer.
        say: shows a line of progress.
        again: the command that switches models, such as `%agentsvc model`.
    """

    ask_key: AskKey | None
    ask_yes: AskYes | None
    say: Callable[[str], None]
    again: str


@dataclass(frozen=True, slots=True)
class SwitchResult:
    """A completed switch from the model `before` to `model`. `key_place` says where a typed key is stored, or is ""."""

    model: str
    before: str
    trial: Trial
    key_place: str = ""
    notes: tuple[str, ...] = field(default=())

    def describe(self, again: str) -> str:
        """Return a text that describes the switch. `again` is the command with which to switch back."""
        lines = [f"{model_id(self.model)} is now the current model."]
        if self.trial.answer:
            charged = self.trial.microcents or not is_own(self.model, self.trial)
            spent = f", which cost {cents(self.trial.microcents)}" if charged else ""
            lines.append(f"Test question: the model answered {self.trial.answer!r}{spent}.")
        if provider_of(self.model):
            lines.append(f"Price: {self._price()}.")
        if self.key_place:
            lines.append(f"Its key is stored {PLACES[self.key_place]}, for all notebooks on this machine.")
        if self.before != self.model:
            lines.append(f"To switch back: {again} {model_id(self.before)}")
        return "\n".join([*lines, *self.notes])

    def facts(self) -> dict[str, Any]:
        """Return the facts of the switch for JSON. Prices are named as in `GET /models`, and null if unknown."""
        given, made = self.trial.price or (None, None)
        return {
            "model": model_id(self.model),
            "before": model_id(self.before),
            "answer": self.trial.answer or None,
            "cost_cents": self.trial.microcents / CENT,
            "input_cents_per_million": given,
            "output_cents_per_million": made,
            "key_place": self.key_place or None,
            "notes": list(self.notes),
        }

    def _price(self) -> str:
        if self.trial.price and any(self.trial.price):
            return f"{price_text(self.trial.price)} {PER}"
        if is_own(self.model, self.trial):
            return "free, because the model runs on your own server"
        return "unknown, so costs are shown as 0. Set AGENTSVC_PRICES to count them"


def is_own(model: str, trial: Trial) -> bool:
    """Return True if the model runs on this machine or on a self-hosted server."""
    return provider_of(model) in _OWN or (bool(trial.address) and on_own_server(model))


def cents(microcents: int) -> str:
    found = microcents / CENT
    return "nothing" if not found else f"{found:.2f} cents" if found >= 0.01 else "under 0.01 cents"


def switch(name: str, talk: Dialogue, *, data: str | Path | None = None, new_key: bool = False) -> SwitchResult:
    """Switch the service of the data folder to this model if the model answers a test question.

    If necessary, install its package, after the user has agreed, and ask the user for its key. With `new_key`, ask for
    a key even if one is stored. Active runs finish with the model with which they began.

    Raises `SwitchError` if the model does not answer, and the errors `SettingsError` and `EmbeddedError`. After an
    error, the previous model is still the current one.
    """
    folder = DataFolder(data_folder(os.environ, data))
    model = resolve_model(name, folder)
    before = current_model(folder)
    folder.make()
    trial, typed = _ModelPreparation(folder, model, before, talk, new_key).run()
    place = _store_key(folder, model, trial, typed, before)
    _restart(folder, model, before, talk)
    left = os.environ.get(MODEL)
    away = f"{MODEL} is set to {left} in this environment: unset it, or the next start from here uses that model again."
    notes = [] if trial.tools else [ONLY_READS.format(model=model_id(model))]
    notes += [away] if left and left != model else []
    return SwitchResult(model, before, trial, place, tuple(notes))


def resolve_model(name: str, folder: DataFolder) -> str:
    """Return a model's full name. `gguf:` with only a file name finds a file in the folder `models` of the data folder.

    Raises `SwitchError` if the name is invalid.
    """
    if looks_like_key(name) and not name.startswith(FILE_PREFIXES):
        raise SwitchError(f"{LOOKS_LIKE_KEY} Nothing was changed.", A_NAME_IS_WANTED)
    file = name.removeprefix("gguf:")
    if file != name and not os.path.exists(os.path.expanduser(file)) and (folder.models / file).is_file():
        name = f"gguf:{folder.models / file}"
    try:
        return check_model(name)
    except ValueError as error:
        raise SwitchError(f"{name!r} is not a valid model name. Nothing was changed.", f"Use {error}.") from None


class _ModelPreparation:
    """Tests a model, installs its package and asks for its key, until it answers or nothing more can be done."""

    def __init__(self, folder: DataFolder, model: str, before: str, talk: Dialogue, new_key: bool) -> None:
        self._folder, self._model, self._talk = folder, model, talk
        self._stays = f"The current model is still {model_id(before)}."
        self._new_key = new_key
        self._typed: dict[str, str] = {}
        self._installed = ""

    def run(self) -> tuple[Trial, dict[str, str]]:
        """Return the successful trial, and the environment variables with the key that the user typed, if any.

        Raises `SwitchError` if no trial succeeds.
        """
        while True:
            if provider_of(self._model):
                self._talk.say(
                    f"Testing {model_id(self._model)}: its package, its key, and a question with a one-word answer ..."
                )
            trial = try_model(self._folder.path, self._model, self._typed)
            if trial.package and trial.package != self._installed:
                self._install(trial)
            elif self._wants_key(trial):
                self._ask_key(trial)
            elif trial.said:
                raise self._refused(trial)
            else:
                return trial, self._typed

    def _wants_key(self, trial: Trial) -> bool:
        if not trial.variable or self._typed:
            return False
        if self._new_key:
            return True
        if not trial.said or os.environ.get(trial.variable):
            return False
        kept = ModelKeys(self._folder).has_key_for(trial.variable, trial.address)
        return trial.fault == "" or (trial.fault == "key" and not kept)

    def _ask_key(self, trial: Trial) -> None:
        name = trial.variable
        if os.environ.get(name):
            raise SwitchError(
                f"{name} is set in this environment, and overrides a stored key. {self._stays}", f"Unset {name} first."
            )
        if self._talk.ask_key is None:
            raise SwitchError(f"{trial.said} This session can't ask for the key. {self._stays}")
        place = trial.address or f"the provider {provider_of(self._model)}"
        key = self._talk.ask_key(f"Key for {place} (hidden): ").strip()
        try:
            check_key(key)
        except ValueError as error:
            raise SwitchError(f"This is not a valid key. Nothing was changed. {self._stays}", f"Use {error}.") from None
        self._typed = {name: key}
        if trial.address and name != MODEL_KEY:
            self._typed[address_variable(provider_of(self._model))] = trial.address

    def _install(self, trial: Trial) -> None:
        by_hand = f"pip install '{trial.package}'"
        brings = f" ({BRINGS[trial.package]})" if trial.package in BRINGS else ""
        lacks = f"{model_id(self._model)} needs {trial.package}{brings}, which is not installed."
        question = f"{lacks} Install it now? [y/n] "
        if self._talk.ask_yes is None or not self._talk.ask_yes(question):
            raise SwitchError(
                f"{trial.said} {self._stays}", f"Install it{brings}, then run `{self._talk.again}` again."
            )
        if find_spec("pip") is None:
            raise SwitchError(
                f"This environment has no pip. Run `{by_hand}` in the environment from which it was created. "
                f"{self._stays}"
            )
        install(trial.package, self._talk.say)
        self._installed = trial.package

    def _refused(self, trial: Trial) -> SwitchError:
        why = trial.said.partition(": ")[2] or trial.said
        model, name = model_id(self._model), trial.variable
        match trial.fault:
            case "key" if self._typed:
                said = f"The provider refused the key, so it was not stored: {why} {self._stays}"
                return SwitchError(said, f"Enter it again with `{self._talk.again} {model}`.")
            case "key" if os.environ.get(name):
                return SwitchError(
                    f"The provider refused the key in {name}: {why} {self._stays}", f"Correct or unset {name}."
                )
            case "key":
                return SwitchError(
                    f"The provider refused the stored key: {why} {self._stays}",
                    f"Enter another with `{self._talk.again} {model} --key`.",
                )
            case "unknown":
                return SwitchError(f"The provider has no model {model}: {why} {self._stays}", "Check the model's name.")
            case "credit":
                return SwitchError(
                    f"The provider's account has no credit for {model}: {why} {self._stays}",
                    "Buy credit from the provider.",
                )
            case "network":
                host = f" ({trial.host})" if trial.host else ""
                place = trial.address or f"The provider {provider_of(self._model)}{host}"
                return SwitchError(
                    f"{place} can't be reached: {why} {self._stays}", "Check the network and the address."
                )
        return SwitchError(f"{trial.said} {self._stays}")


def install(package: str, say: Callable[[str], None], tick: float = TICK_SECONDS) -> None:
    """Install a package with pip into this environment. Raises `SwitchError` if pip fails.

    `say` gets each line that pip prints. Every `tick` seconds it gets the last line again, because pip prints nothing
    during a download.
    """
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", package]
    begin, last = clock.monotonic(), f"Installing {package}"
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line.strip()[:_LINE])
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        try:
            while True:
                say(f"pip: {last} ({clock.monotonic() - begin:.0f} s)")
                with contextlib.suppress(queue.Empty):
                    if (line := lines.get(timeout=tick)) is None:
                        break
                    last = line or last
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise SwitchError(f"pip could not install {package}: {last} The model was not switched.")


def _store_key(folder: DataFolder, model: str, trial: Trial, typed: Mapping[str, str], before: str) -> str:
    """Store the typed key, if there is one, and return where it was stored."""
    if trial.variable not in typed:
        return ""
    try:
        return ModelKeys(folder).store(trial.variable, typed[trial.variable], provider_of(model), trial.address)
    except OSError as error:
        raise SwitchError(
            f"The key could not be stored ({error}). The current model is still {model_id(before)}."
        ) from None


def _restart(folder: DataFolder, model: str, before: str, talk: Dialogue) -> None:
    """Wait until no run of another model is active, stop the service, and start it with this model. Raises
    `SwitchError` and `EmbeddedError`.
    """
    ready = embedded.status(folder.path)
    if ready is not None and ready.version != __version__:
        again = restart_command(folder.path)
        raise SwitchError(
            f"The running service has version {ready.version}, but this installation has {__version__}.",
            f"Restart the service first: {again}",
        )
    while True:
        _wait_for_runs(folder, model, talk)
        talk.say(f"Starting the service with {model_id(model)} ...")
        embedded.stop(folder.path)
        if _runs_of_other_models(
            folder, model
        ):  # runs of other models have started in the meantime, and must finish first
            embedded.find_or_start(folder.path, timeout=START_SECONDS)
            continue
        try:
            embedded.find_or_start(folder.path, model=model, timeout=START_SECONDS)
        except embedded.EmbeddedError as error:
            embedded.find_or_start(folder.path, timeout=START_SECONDS)
            raise SwitchError(f"{error} The current model is still {model_id(before)}.") from None
        ready = embedded.status(folder.path)
        if ready is not None and ready.model == model:  # else another process has started the service
            return


def _wait_for_runs(folder: DataFolder, model: str, talk: Dialogue) -> None:
    told = ""
    while others := _runs_of_other_models(folder, model):
        # The service may have been stopped. Start it with the previous model, with which interrupted runs continue.
        embedded.find_or_start(folder.path, timeout=START_SECONDS)
        ids = ", ".join(run.run_id for run in others[:3])
        line = (
            f"Waiting for {len(others)} active run{'s' * (len(others) > 1)} of the previous model ({ids}), so "
            "that no work is lost. Interrupt to keep the previous model."
        )
        if line != told:
            talk.say(line)
            told = line
        clock.sleep(POLL_SECONDS)


def _runs_of_other_models(folder: DataFolder, model: str) -> list[RunRecord]:
    """Return the active runs that a service with `model` could not continue, because it does not offer their model."""
    if not folder.has_database():
        return []
    from agentsvc_nb.service.keyring import open_database
    from agentsvc_nb.service.runs import run_records

    offered = load_config(folder.path, model, embedded=True).settings.offered
    with open_database(folder) as database:
        return [run for run in database.read(run_records.list_active) if run.model not in offered]
