"""`agentsvc ask` and `agentsvc runs attach`: a run's text on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.client.request.request import KEY_VARIABLE
from agentsvc_nb.client.streams.event_stream import EventStream
from agentsvc_nb.embedded import EmbeddedError, local
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.settings import data_folder
from agentsvc_nb.wire.runs import Event, Run
from agentsvc_nb.wire.text import exact, label, plain

URL_VARIABLE: Final = "AGENTSVC_BASE_URL"
INTERRUPTED: Final = 130


class FileRefused(OSError):
    """A file can't be sent; the message says which and why."""


def ask(text: str, *, data: Path | None = None, chat: str | None = None, files: Sequence[Path] = ()) -> int:
    """Start a run and print its text as it comes; Ctrl-C cancels the run.

    The exit code: 0 when it completed, 130 when it was interrupted, else 1. Raises `FileRefused`, `StefanBrainError`
    when it was refused, and what `find_or_start` raises.
    """
    for file in files:
        _check(file)
    with service(data) as client, client.runs.start_and_stream(text, chat=chat, files=files) as stream:
        try:
            return _follow(stream)
        except KeyboardInterrupt:
            _say_where(client.runs.cancel(stream.run_id))
            return INTERRUPTED
        except (APIConnectionError, EmbeddedError):
            _say_lost(stream.run_id)
            raise


def attach(run_id: str, *, data: Path | None = None) -> int:
    """Print a run from its beginning, to its end; Ctrl-C leaves it running. Exit codes and errors as of `ask`, and
    `NoService` for a folder where none ran."""
    with service(data, new=False) as client, client.runs.attach(run_id) as stream:
        try:
            return _follow(stream)
        except KeyboardInterrupt:
            _say(f"\nThe run goes on: agentsvc runs attach {run_id}")
            return INTERRUPTED
        except (APIConnectionError, EmbeddedError):
            _say_lost(run_id)
            raise


def _check(file: Path) -> None:
    if file.is_dir():
        raise FileRefused(f"{file} is a folder; nothing was sent. Name its files, each with --file.")
    if not os.path.exists(file):
        raise FileRefused(f"There is no file {file}; nothing was sent. Check the path.")
    if not os.access(file, os.R_OK):  # not opened: what a pipe such as <(date) holds can be read only once
        raise FileRefused(f"{file} can't be read; nothing was sent. Check its permissions.")


def service(data: Path | None, *, new: bool = True) -> AbstractContextManager[AgentService]:
    """The service that `AGENTSVC_BASE_URL` names, else the embedded one, which may be a `new` one. A key alone does
    not say where it may be sent (docs/api/embedded.md "Address and key"). Raises `NoService`."""
    url = os.environ.get(URL_VARIABLE)
    if data is None and url:
        return AgentService(base_url=url)
    if data is None and os.environ.get(KEY_VARIABLE):
        raise EmbeddedError(
            f"{KEY_VARIABLE} is set, but not the service it is for: set {URL_VARIABLE}, "
            f"or unset {KEY_VARIABLE} to use the service on this machine."
        )
    if not new:
        DataFolder(data_folder(os.environ, data)).existing()
    return local(data)


def _follow(stream: EventStream) -> int:
    spoken = Spoken()
    shown = plain if sys.stdout.isatty() else str  # what an agent says must not steer the terminal
    for event in stream:
        sys.stdout.write(shown(spoken.take(event)))
        sys.stdout.flush()
        if event.type == "approval.requested":
            asked = f"{label(event.payload.get('tool'))} {exact(event.payload.get('input'))}"
            _say(f"\n{asked}\nwaits for approval: agentsvc runs approve {stream.run_id}")
    run = stream.final_status()
    sys.stdout.write(shown(spoken.end(run)))
    sys.stdout.flush()
    _say_where(run)
    if run.status != "completed":
        _say(f"agentsvc: {run.last_error_message or run.last_error or run.status}")
    return 0 if run.status == "completed" else 1


class Spoken:
    """What has been printed, and how much of it still counts: a terminal can't take back (docs/api/events.md)."""

    def __init__(self) -> None:
        self._deltas: list[tuple[int, str]] = []
        self._column_zero = True

    def take(self, event: Event) -> str:
        """What to print for the event."""
        if event.type == "text.delta":
            self._deltas.append((event.id, text := str(event.payload.get("text", ""))))
            return self._printed(text)
        if event.type == "run.resumed" and (kept := self._kept(event)) != self._deltas:
            self._deltas = kept
            return self._printed(
                self._newline() + "[The service was restarted; what follows replaces its last step.]\n"
            )
        return ""

    def end(self, run: Run) -> str:
        """What is left to print: the output, when it is another than what was said."""
        said = "".join(text for _, text in self._deltas)
        output = run.output or ""
        rest = self._newline() + output if output.strip() != said.strip() else ""
        return self._printed(rest) + self._newline()

    def _kept(self, resumed: Event) -> list[tuple[int, str]]:
        discard_after = int(resumed.payload.get("discard_after", 0))
        return [delta for delta in self._deltas if delta[0] <= discard_after]

    def _newline(self) -> str:
        return "" if self._column_zero else "\n"

    def _printed(self, text: str) -> str:
        if text:
            self._column_zero = text.endswith("\n")
        return text


def _say_where(run: Run) -> None:
    _say(f"[run {run.run_id}, chat {run.chat}: {run.status}]")


def _say_lost(run_id: str) -> None:
    """What was printed stays; why it ends here is told by who raises."""
    _say(f"\nThe service went away before the run ended; once it is back: agentsvc runs attach {run_id}")


def _say(line: str) -> None:
    print(plain(line), file=sys.stderr, flush=True)
