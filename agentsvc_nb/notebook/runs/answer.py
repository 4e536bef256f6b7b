"""What a cell gives back: `_`, `Out[n]` and `-o name`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agentsvc_nb.client.results.frames import frame
from agentsvc_nb.notebook.display import frames
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.runs.codes import first_code
from agentsvc_nb.notebook.runs.shape import Shape
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run
from agentsvc_nb.wire.tools import Job

if TYPE_CHECKING:
    import pandas as pd


class Shown:
    """What a cell shows already when it gives it back, and what is shown again when another cell looks at it."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._hidden: Callable[[], bool] = lambda: False

    def hide_while(self, shown: Callable[[], bool]) -> None:
        """Show nothing while `shown()` says so: the cell that made it shows it already."""
        self._hidden = shown

    @property
    def shown(self) -> Bundle:
        """What a cell shows of it."""
        return dict(self._bundle)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return self.shown

    def _ipython_display_(self) -> None:
        # `_` and `Out[n]` are set for whatever a cell returns; this keeps IPython from showing a second copy.
        if not self._hidden():
            from IPython.display import display

            display(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]


class Kept(Shown):
    """A finished piece of work."""

    def __init__(self, bundle: Bundle, files: Sequence[WorkspaceFile], chat: str | None) -> None:
        super().__init__(bundle)
        self.files, self.chat = tuple(files), chat

    @property
    def df(self) -> pd.DataFrame:
        """The files that it wrote, a row each; no network is needed."""
        return frame((file.model_dump(exclude={"object"}) for file in self.files), frames.FILES, **self.attrs)

    @property
    def attrs(self) -> dict[str, Any]:
        """Where its DataFrames are from: their `attrs`."""
        return {"chat": self.chat}


class Answer(Kept):
    """The answer of a run; `again` says that it was shown again and not asked for.

    Example: `answer.text`, `answer.data["price"]`, `answer.files[0].path`, `answer.df`, `answer.run.usage`
    """

    def __init__(
        self,
        run: Run,
        text: str,
        bundle: Bundle,
        files: Sequence[WorkspaceFile],
        shape: Shape | None = None,
        again: bool = False,
        inputs: Sequence[str] = (),
    ) -> None:
        super().__init__(bundle, files, run.chat)
        self.run, self.text, self.again, self._shape = run, text, again, shape
        self.inputs = tuple(inputs)
        """SHA-256s of the files that were attached."""

    @property
    def attrs(self) -> dict[str, Any]:
        return super().attrs | {"run_id": self.run_id, "model": self.run.model, "inputs": list(self.inputs)}

    @property
    def data(self) -> Any:
        """The answer as data, when it was asked for by a schema; None when there is none.

        A dict, an instance of the model, or for a list of records a DataFrame. Raises `StefanBrainError` when the
        answer fits the schema, but not the model's own checks.
        """
        found = self.run.structured_output
        if found is None or self._shape is None:
            return found
        return self._shape.read(found, **self.attrs)

    @property
    def code(self) -> str | None:
        """The first Python code block of the answer; a block that names no language counts as Python."""
        return first_code(self.text)

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def status(self) -> str:
        return str(self.run.status)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Answer {self.status}, {len(self.text)} characters, {len(self.files)} files, run {self.run_id}>"


class JobResult(Kept):
    """The result of a job: `result.files` and `result.df`, or `result.data`."""

    def __init__(self, job: Job, bundle: Bundle) -> None:
        super().__init__(bundle, job.files or [], job.chat)
        self.job, self.data = job, job.data

    @property
    def status(self) -> str:
        return str(self.job.status)

    def __repr__(self) -> str:
        return f"<JobResult {self.status}, {len(self.files)} files, job {self.job.job_id}>"
