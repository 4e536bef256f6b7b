"""`web_search`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from agentsvc_nb.wire.toolset.shapes import Filled, ToolInput, ToolOutput

RESULTS_MAX: Final = 20


class WebSearchInput(ToolInput):
    query: Annotated[Filled, StringConstraints(max_length=400)] = Field(description="What to search for.")
    count: int = Field(default=8, ge=1, le=RESULTS_MAX, description="How many results, at most.")


class WebResult(ToolOutput):
    title: str
    url: str
    snippet: str


class WebResults(ToolOutput):
    query: str
    provider: str
    results: list[WebResult]
