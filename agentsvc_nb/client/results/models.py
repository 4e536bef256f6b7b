"""What operations give back: the models of the wire, and how a user looks at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import PrivateAttr

from agentsvc_nb.client import cards
from agentsvc_nb.client.cards import Showing
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.results import frames
from agentsvc_nb.client.results.structured import parsed
from agentsvc_nb.wire import events, files, runs, tools

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class Run(Showing, runs.Run):
    """One agent turn inside a chat; a notebook shows it as a card."""

    _shape: type[Any] | None = PrivateAttr(default=None)

    @property
    def data(self) -> Any:
        """The structured output, None as long as there is none.

        It is an instance of the model or dataclass that was the start's `output_config`, else a dict. A run that was
        read anew (`runs.get`) does not know the model: `parse` it.

        Raises `StefanBrainError` when the answer fits the schema, but not the model's own checks.
        """
        if self.structured_output is None or self._shape is None:
            return self.structured_output
        return parsed(self._shape, self.structured_output)

    def parse(self, shape: type[T]) -> T:
        """The structured output as an instance of a pydantic model, a dataclass or a TypedDict.

        Raises `StefanBrainError` when there is none, or it does not fit.

        >>> client.runs.wait(run.run_id).parse(Campaign).headline  # doctest: +SKIP
        """
        if self.structured_output is None:
            why = self.last_error_message or self.last_error or "its answer is no JSON object"
            raise StefanBrainError(f"Run {self.run_id} ({self.status}) has no structured output: {why}.")
        return parsed(shape, self.structured_output)

    @property
    def shape(self) -> Any:
        """The model or dataclass that `data` is read as, if any."""
        return self._shape

    def of_shape(self, shape: Any) -> Run:
        """This run, whose `data` is read as `shape` when that is a class."""
        self._shape = shape if isinstance(shape, type) else None
        return self

    def _mimebundle(self) -> cards.Bundle:
        facts = {
            "run": self.run_id,
            "chat": self.chat,
            "started": self.started_at or self.created_at,
            "ended": self.ended_at,
            "steps": self.steps or None,
            "error": self.last_error,
        }
        return cards.card(f"Run {self.status}", facts, self.output or self.last_error_message or "")


class Job(Showing, tools.Job):
    """A tool job; a notebook shows it as a card."""

    def _mimebundle(self) -> cards.Bundle:
        progress = self.progress
        total = f" of {progress.total:g}" if progress and progress.total else ""
        facts = {
            "job": self.job_id,
            "tool": self.tool,
            "chat": self.chat,
            "progress": f"{progress.done:g}{total} {progress.message}" if progress else None,
            "error": self.error.code if self.error else None,
            "files": ", ".join(file.file_name for file in self.files) if self.files else None,
        }
        return cards.card(f"Job {self.status}", facts, self.error.message if self.error else "")


class Answer(Showing, tools.Answer):
    """What an ask came to; a notebook shows it as a card."""

    def _mimebundle(self) -> cards.Bundle:
        facts = {"run": self.run_id, "chat": self.chat, "page": self.app_url, "steps": self.steps or None}
        return cards.card("Answer", facts, self.answer)


class Listing(Showing, list[T]):
    """A list of records that knows their model: a table in a notebook, and a DataFrame, also when it is empty."""

    def __init__(self, records: Iterable[T], kind: type[T]) -> None:
        super().__init__(records)
        self.kind = kind

    def to_frame(self) -> pd.DataFrame:
        """A row a record; the columns are the model's fields, and their types are always the same (docs/data.md).

        Raises `StefanBrainError` for a value of the wrong type, `ImportError` without pandas.
        """
        return frames.of(self.kind, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Listing, (list(self), self.kind)

    def _mimebundle(self) -> cards.Bundle:
        return _table(self.kind, self)


class FileSearch(Showing, files.FileSearch):
    """What a search found, best first."""

    def to_frame(self) -> pd.DataFrame:
        """A row a result; see `Listing.to_frame`."""
        return frames.of(files.SearchResult, self.results, chat=self.chat)

    def _mimebundle(self) -> cards.Bundle:
        rows = [
            {"path": found.path, "match": found.match, "passage": " … ".join(map(_passage, found.snippets))}
            for found in self.results
        ]
        return cards.table("Found", ["path", "match", "passage"], rows, len(rows))


class EventPage(Showing, events.EventPage):
    """A page of a run's events."""

    def to_frame(self) -> pd.DataFrame:
        """A row an event; see `Listing.to_frame`."""
        return frames.of(events.Event, self.data)

    def _mimebundle(self) -> cards.Bundle:
        return _table(events.Event, self.data)


def _passage(parts: Sequence[files.SnippetPart]) -> str:
    return "".join(part.text for part in parts)


def _table(kind: type, records: Sequence[Any]) -> cards.Bundle:
    names = list(_SHOWN.get(kind, frames.columns(kind)))
    rows = ({name: getattr(record, name, None) for name in names} for record in records)
    return cards.table(_TITLES.get(kind, kind.__name__), names, rows, len(records))


_SHOWN: dict[type, Sequence[str]] = {
    files.WorkspaceFile: ("path", "name", "kind", "media_type", "size_bytes", "updated_at"),
    files.StagedFile: ("id", "file_name", "media_type", "size_bytes", "expires_at"),
    tools.ToolDescription: ("name", "description", "asynchronous", "available"),
}
_TITLES: dict[type, str] = {files.WorkspaceFile: "Files", tools.ToolDescription: "Tools", events.Event: "Events"}
