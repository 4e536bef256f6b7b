"""The answer of a run, as a cell gives it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.results import Kept
from agentsvc_nb.notebook.runs.proposed import first_code
from agentsvc_nb.notebook.runs.shape import Shape
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import Run


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
