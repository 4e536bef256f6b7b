"""A cell's output area that keeps what a front end would: for tests of what is shown and what it costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.wire.runs import Event, Run


class Cell:
    """Applies show, update and clear as JupyterLab does."""

    def __init__(self) -> None:
        self.outputs: list[Bundle] = []
        self.metadata: Mapping[str, Any] | None = None
        self.bytes = self.messages = 0
        self._ids: dict[str, int] = {}
        self._clear = False

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        self._sent(bundle)
        if self._clear:
            self.outputs, self._ids, self._clear = [], {}, False
        if display_id:
            self._ids[display_id] = len(self.outputs)
        self.outputs.append(bundle)
        self.metadata = metadata

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        self.show(bundle, display_id=display_id)

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        self._sent(bundle)
        self.outputs[self._ids[display_id]] = bundle
        self.metadata = metadata or self.metadata

    def clear(self) -> None:
        self._sent({})
        self._clear = True

    def has(self, display_id: str) -> bool:
        """Whether the output of this id is in this cell."""
        return display_id in self._ids

    @property
    def text(self) -> str:
        """What stands under the status line."""
        return "".join(output["text/plain"] for output in self.outputs[1:])

    def _sent(self, bundle: Bundle) -> None:
        self.messages += 1
        self.bytes += 700 + len(json.dumps(bundle, ensure_ascii=False).encode())


class Clock:
    """Time that passes when it is told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Script:
    """A transcript fed by hand."""

    def __init__(self) -> None:
        self.view = RunView(run_id="11111111-1111-4111-8111-111111111111", status="running")

    def event(self, kind: str, **payload: Any) -> int:
        self.view.apply(Event(self.view.last_event_id + 1, kind, "2026-11-21T06:00:00.000Z", payload))
        return self.view.last_event_id

    def say(self, text: str) -> int:
        return self.event("text.delta", text=text)

    def end(self, status: str = "completed", **fields: Any) -> Run:
        run = Run(run_id=self.view.run_id, status=status, output=self.view.streamed_text, **fields)
        self.event("run.ended", run=run.model_dump())
        return run
