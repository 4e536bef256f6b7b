"""The catalog: the tools that exist for a model, and how each is described (docs/api/tools-and-jobs.md "Catalog")."""

from __future__ import annotations

from collections.abc import Mapping

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import workspace
from agentsvc_nb.tools.ask_stefanbrain import AskStefanBrain
from agentsvc_nb.tools.create_images import CreateImages
from agentsvc_nb.tools.echo_job import EchoJob
from agentsvc_nb.tools.edit_image import EditImage
from agentsvc_nb.tools.fetching import Fetcher
from agentsvc_nb.tools.find_angles import FindAngles
from agentsvc_nb.tools.get_meta_ad import GetMetaAd
from agentsvc_nb.tools.media_transcript import MediaTranscript
from agentsvc_nb.tools.port import Complete, Described, Tool
from agentsvc_nb.tools.research_shortform import ResearchShortform
from agentsvc_nb.tools.review_copy import ReviewCopy
from agentsvc_nb.tools.review_funnel import ReviewFunnel
from agentsvc_nb.tools.send_email import SendEmail
from agentsvc_nb.tools.web_search import WebSearch
from agentsvc_nb.wire.tools import ToolDescription


def tools(settings: Settings, complete: Complete | None = None) -> dict[str, Tool]:
    """The tools by name. `echo_job` exists only with the `scripted` model. `complete` asks the
    language model, when there is one.

    >>> from pathlib import Path
    >>> "echo_job" in tools(Settings(Path("data"), model="scripted")), "echo_job" in tools(Settings(Path("data")))
    (True, False)
    """
    fetcher = Fetcher(settings.fetch_allow)
    offered: list[Tool] = [
        CreateImages(settings, fetcher),
        EditImage(settings, fetcher),
        FindAngles(complete),
        GetMetaAd(settings, fetcher),
        MediaTranscript(settings),
        ResearchShortform(complete),
        ReviewCopy(complete),
        ReviewFunnel(fetcher),
        SendEmail(settings),
        WebSearch(settings),
    ]
    if settings.model == "scripted":
        offered.append(EchoJob(settings.data))
    return {tool.name: tool for tool in offered}


def offered(tools: Mapping[str, Tool]) -> dict[str, Described]:
    """What callers from outside are offered: to ask, too, which within a run would wait for itself."""
    ask = AskStefanBrain()
    return {**tools, ask.name: ask}


def within(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """What an agent is offered: the chat's files, too, for which callers from outside have endpoints."""
    return {**tools, **{tool.name: tool for tool in workspace.tools()}}


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
        output_schema=None if tool.Output is None else tool.Output.model_json_schema(mode="serialization"),
    )
