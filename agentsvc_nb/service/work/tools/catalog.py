"""The catalog: the tools that exist for a model, and how each is described (contract §5)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentsvc_nb.service.ports import Described, Tool
from agentsvc_nb.service.work.tools.ask_stefanbrain import AskStefanBrain
from agentsvc_nb.service.work.tools.create_images import CreateImages
from agentsvc_nb.service.work.tools.echo_job import EchoJob
from agentsvc_nb.service.work.tools.media_transcript import MediaTranscript
from agentsvc_nb.wire.tools import ToolDescription


def tools(model: str, data: Path) -> dict[str, Tool]:
    """The tools by name. `data` is the service's data folder; `echo_job` exists only with the `scripted` model.

    >>> list(tools("offline", Path("data")))
    ['create_images', 'media_transcript']
    """
    offered: list[Tool] = [CreateImages(), MediaTranscript()]
    if model == "scripted":
        offered.append(EchoJob(data))
    return {tool.name: tool for tool in offered}


def offered(tools: Mapping[str, Tool]) -> dict[str, Described]:
    """What callers from outside are offered: to ask, too, which within a run would wait for itself."""
    ask = AskStefanBrain()
    return {**tools, ask.name: ask}


def describe(tool: Described) -> ToolDescription:
    """A tool as `GET /tools` shows it."""
    return ToolDescription(
        name=tool.name,
        description=tool.description,
        family=tool.family,
        asynchronous=tool.asynchronous,
        idempotent=tool.idempotent,
        effect=tool.effect,
        available=tool.available(),
        input_schema=tool.Input.model_json_schema(),
    )
