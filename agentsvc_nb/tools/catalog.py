"""The catalog lists the tools for a model and describes each tool (docs/api/tools-and-jobs.md "Catalog").

A tool is a module of `agentsvc_nb.tools` that defines a `BaseTool`. The catalog imports these modules when it is
created. `ask_stefanbrain` has no module, because it starts a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import (
    RESERVED_NAMES,
    BaseTool,
    CatalogEntry,
    Complete,
    Tool,
    ToolServices,
    WebAddress,
)
from agentsvc_nb.wire.runs import Effort, UploadId
from agentsvc_nb.wire.tools import ToolDescription


class AskInput(BaseModel):
    message: Annotated[str, StringConstraints(pattern=r"\S")] = Field(description="The question or task.")
    file_ids: list[UploadId] = Field(
        default_factory=list, description="Staged files to attach; at most 10 attachments with `image_urls`."
    )
    image_urls: list[WebAddress] = Field(default_factory=list, description="Addresses of pictures, http or https.")
    model: str | None = Field(default=None, description="A model of `GET /models`; the default if left out.")
    effort: str | None = Field(
        default=None,
        description="How much the model should reason, if its provider supports that.",
        json_schema_extra={"enum": [*get_args(Effort), None]},
    )
    on_busy: Literal["reject"] = Field(default="reject", description="What to do if the chat is busy.")


class AskStefanBrain(CatalogEntry):
    """A catalog entry without `run`. The service starts a run for each call, and the call's job refers to that run."""

    name: ClassVar[str] = "ask_stefanbrain"
    description: ClassVar[str] = "Asks the agent. Returns its answer, or a job if the answer takes longer."
    family: ClassVar[str] = "mcp_ask"
    idempotent: ClassVar[bool] = True

    requirements: ClassVar[str] = "`AGENTSVC_MODEL` sets the model that answers: [models.md](models.md)."

    Input: ClassVar[type[BaseModel]] = AskInput


TOOLS = "agentsvc_nb.tools"
WORKSPACE_TOOLS = "agentsvc_nb.tools.workspace"


def tools(settings: Settings, complete: Complete | None = None) -> dict[str, Tool]:
    """Return the tools by name. `echo_job` exists only with the `scripted` model. `complete` asks the language model,
    or is None without one.

    >>> from pathlib import Path
    >>> "echo_job" in tools(Settings(Path("data"), model="scripted")), "echo_job" in tools(Settings(Path("data")))
    (True, False)
    """
    return _construct(TOOLS, ToolServices(settings, complete))


def offered(tools: Mapping[str, Tool]) -> dict[str, CatalogEntry]:
    """Return the tools for HTTP. They include `ask_stefanbrain`, which agents do not get because it would deadlock
    within a run."""
    ask = AskStefanBrain()
    return {**tools, ask.name: ask}


def within(tools: Mapping[str, Tool], settings: Settings) -> dict[str, Tool]:
    """Return an agent's tools. They include those for the chat's files, for which HTTP has endpoints."""
    return {**tools, **_construct(WORKSPACE_TOOLS, ToolServices(settings))}


def taken_names(within: Mapping[str, Tool]) -> frozenset[str]:
    """Return the names that a caller's tools must not use.

    These are the names of the agent's tools (whether available or not), `ask_stefanbrain`, and the names in
    `RESERVED_NAMES`.
    """
    return frozenset({*offered(within), *RESERVED_NAMES})


def describe(tool: CatalogEntry) -> ToolDescription:
    """Return a tool as `GET /tools` shows it."""
    return ToolDescription(
        name=tool.name,
        description=tool.description,
        family=tool.family,
        asynchronous=tool.asynchronous,
        idempotent=tool.idempotent,
        effect=tool.effect,
        available=tool.available(),
        input_schema=_schema(tool.Input, "validation"),
        output_schema=None if tool.Output is None else _schema(tool.Output, "serialization"),
    )


@cache  # cached, because pydantic takes a millisecond for each schema
def _schema(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    return model.model_json_schema(mode=mode)


def _construct(package: str, services: ToolServices) -> dict[str, Tool]:
    """Return a package's tools by name, with tools for tests last.

    Leave out the groups that the settings turn off.

    Base classes of several tools have no `name`. A module `*_child` runs in a child process, and the service must not
    import what that process needs.
    """
    settings, found = services.settings, []
    for info in iter_modules(import_module(package).__path__):
        if info.ispkg or info.name.endswith("_child"):
            continue
        module = import_module(f"{package}.{info.name}")
        for value in vars(module).values():
            is_tool = isinstance(value, type) and issubclass(value, BaseTool) and hasattr(value, "name")
            if is_tool and value.__module__ == module.__name__ and value.group not in settings.tools_off:
                found.append(value)
    scripted = "scripted" in settings.offered
    found.sort(key=lambda tool: (tool.scripted_only, tool.name))
    return {tool.name: tool(services) for tool in found if scripted or not tool.scripted_only}
