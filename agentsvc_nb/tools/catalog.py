"""Discover the tools, and describe them for the catalog, `GET /tools` (docs/api/tools-and-jobs.md "Catalog").

A tool is a subclass of `BaseTool` in a module of `agentsvc_nb.tools`. `tools` imports these modules. The tool
`ask_stefanbrain` has no such module, because the service itself starts a run for each call of it.
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
        default_factory=list, description="The ids of staged files to attach. At most 10, together with `image_urls`."
    )
    image_urls: list[WebAddress] = Field(default_factory=list, description="Addresses of pictures, http or https.")
    model: str | None = Field(
        default=None, description="The id of a model from `GET /models`. If left out, the default model."
    )
    effort: str | None = Field(
        default=None,
        description="How much the model should reason, if its provider supports this.",
        json_schema_extra={"enum": [*get_args(Effort), None]},
    )
    on_busy: Literal["reject"] = Field(
        default="reject", description="What to do if the chat has an active run. With `reject`, the call fails."
    )


class AskStefanBrain(CatalogEntry):
    """The catalog entry for calls that ask the agent. The service starts a run for each call, and the call's job refers
    to that run."""

    name: ClassVar[str] = "ask_stefanbrain"
    description: ClassVar[str] = "Asks the agent a question. Returns its answer, or a job if the answer takes long."
    family: ClassVar[str] = "mcp_ask"
    idempotent: ClassVar[bool] = True

    requirements: ClassVar[str] = "`AGENTSVC_MODEL` sets the model that answers: [models.md](models.md)."

    Input: ClassVar[type[BaseModel]] = AskInput


TOOLS = "agentsvc_nb.tools"
WORKSPACE_TOOLS = "agentsvc_nb.tools.workspace"


def tools(settings: Settings, complete: Complete | None = None) -> dict[str, Tool]:
    """Return the tools by name, without those for a chat's files.

    The test tool `echo_job` is included only if the `scripted` model is offered. `complete` is a function that asks the
    language model, or None if no model exists.

    >>> from pathlib import Path
    >>> "echo_job" in tools(Settings(Path("data"), model="scripted")), "echo_job" in tools(Settings(Path("data")))
    (True, False)
    """
    return _construct(TOOLS, ToolServices(settings, complete))


def add_ask_tool(tools: Mapping[str, Tool]) -> dict[str, CatalogEntry]:
    """Return the tools that HTTP clients can call: `tools` and `ask_stefanbrain`. Agents do not get the latter, because
    a call of it within a run would deadlock."""
    ask = AskStefanBrain()
    return {**tools, ask.name: ask}


def add_workspace_tools(tools: Mapping[str, Tool], settings: Settings) -> dict[str, Tool]:
    """Return the tools that agents can call: `tools` and those for the chat's files.

    HTTP clients do not get the latter, because they have endpoints for files.
    """
    return {**tools, **_construct(WORKSPACE_TOOLS, ToolServices(settings))}


def taken_names(agent_tools: Mapping[str, Tool]) -> frozenset[str]:
    """Return the names that client tools (functions in the caller's own process) must not have.

    These are the names of the agent's tools, available or not, of `ask_stefanbrain`, and those in `RESERVED_NAMES`.
    """
    return frozenset({*add_ask_tool(agent_tools), *RESERVED_NAMES})


def describe(tool: CatalogEntry) -> ToolDescription:
    """Return the description of a tool for `GET /tools`."""
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


@cache  # pydantic takes a millisecond for each schema
def _schema(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    return model.model_json_schema(mode=mode)


def _construct(package: str, services: ToolServices) -> dict[str, Tool]:
    """Return the tools in a package by name. Tools for tests come last.

    Tools in groups that the settings turn off are left out, and so are base classes, which have no `name`.

    Modules called `*_child` are not imported: they run in child processes, and the service must not import their
    libraries.
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
