"""Ask an agent from a notebook cell, watch it work, keep what it made.

        notebook/            magics, widgets, rendering        IPython and ipywidgets live only here
            |
        embedded.py          "a service and a client, ready": finds `agentsvc serve` on loopback, or starts it
         /       \\
    client/      service/    siblings: never import each other
        |         |    \\
        |         |   agents/, tools/    what answers, and what it can have done; they see their ports only
        |       documents/                 foreign content made safe and readable
         \\         /
          wire/              what crosses the wire, and nothing else

`cli/` and `testing/` sit on top. Importing the package loads none of it: names come when they are used.

    from agentsvc_nb import local              # a service and a client on this machine
    from agentsvc_nb import AgentService       # a client of a service elsewhere
    %load_ext agentsvc_nb                      # the magics

`client/`, `wire/` and this module are a distribution of their own, `agentsvc-client`; `agentsvc-nb` adds the rest.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # importing `typing` would be nine tenths of importing this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from agentsvc_nb.client.api import AgentService, AsyncAgentService
    from agentsvc_nb.client.batch_runner import MapProgress
    from agentsvc_nb.client.client_tools import ClientTool
    from agentsvc_nb.client.errors import (
        AgentServiceError,
        APIConnectionError,
        AuthenticationError,
        ChatBusyError,
        JobFailedError,
        JobTimeoutError,
        RateLimitError,
        RequestTooLargeError,
        StefanBrainError,
        ToolResultError,
    )
    from agentsvc_nb.client.event_streams import AsyncEventStream, EventStream
    from agentsvc_nb.client.events import Event, RunEvent
    from agentsvc_nb.client.mapping import MapStopped
    from agentsvc_nb.client.models import Answer, Job, Run
    from agentsvc_nb.client.options import RetryNotice, WaitNotice
    from agentsvc_nb.embedded import local
    from agentsvc_nb.notebook.commands import Files, Gallery
    from agentsvc_nb.notebook.nested_loops import allow_nested_loops
    from agentsvc_nb.notebook.previews.decoding import read_table
    from agentsvc_nb.notebook.widgets.chat.chat import Chat as Chat
    from agentsvc_nb.notebook.widgets.forms.tool_form import ToolForm as ToolForm
    from agentsvc_nb.wire.files import WorkspaceFile
    from agentsvc_nb.wire.tools import JobAccepted, ToolResult

__version__ = "0.1.0"
DEVELOPER_SDK_SPEC_VERSION = "1.0.0"
"""The version of the specification that the client is written to."""

__all__ = [
    "DEVELOPER_SDK_SPEC_VERSION",
    "APIConnectionError",
    "AgentService",
    "AgentServiceError",
    "Answer",
    "AsyncAgentService",
    "AsyncEventStream",
    "AuthenticationError",
    "ChatBusyError",
    "ClientTool",
    "Event",
    "EventStream",
    "Files",
    "Gallery",
    "Job",
    "JobAccepted",
    "JobFailedError",
    "JobTimeoutError",
    "MapProgress",
    "MapStopped",
    "RateLimitError",
    "RequestTooLargeError",
    "RetryNotice",
    "Run",
    "RunEvent",
    "StefanBrainError",
    "ToolResult",
    "ToolResultError",
    "WaitNotice",
    "WorkspaceFile",
    "__version__",
    "allow_nested_loops",
    "load_ipython_extension",
    "local",
    "read_table",
    "unload_ipython_extension",
]
# And `Chat` and `ToolForm`: `from agentsvc_nb import *` in a script must not load IPython, which they need.

_HOMES = {
    "AgentService": "client.api",
    "Answer": "client.models",
    "AsyncAgentService": "client.api",
    "AsyncEventStream": "client.event_streams",
    "ClientTool": "client.client_tools",
    "Chat": "notebook.widgets.chat.chat",
    "Event": "client.events",
    "EventStream": "client.event_streams",
    "Files": "notebook.commands",
    "Gallery": "notebook.commands",
    "MapProgress": "client.batch_runner",
    "MapStopped": "client.mapping",
    "Job": "client.models",
    "JobAccepted": "wire.tools",
    "RetryNotice": "client.options",
    "Run": "client.models",
    "RunEvent": "client.events",
    "ToolForm": "notebook.widgets.forms.tool_form",
    "ToolResult": "wire.tools",
    "WaitNotice": "client.options",
    "WorkspaceFile": "wire.files",
    "allow_nested_loops": "notebook.nested_loops",
    "local": "embedded",
    "read_table": "notebook.previews.decoding",
    **{name: "client.errors" for name in __all__ if name.endswith("Error")},
}


def _find_rest() -> str | None:
    """The folder of what `agentsvc-nb` adds: another one after `pip install --user`; None with the client alone."""
    places = (*__path__, *(os.path.join(folder, __name__) for folder in sys.path))
    return next((place for place in places if os.path.isdir(os.path.join(place, "notebook"))), None)


_rest = _find_rest()
if _rest is None:  # `import *` and `help` get each name
    __all__[:] = [name for name in __all__ if _HOMES.get(name, "client").startswith(("client", "wire"))]
elif _rest not in __path__:
    __path__.append(_rest)


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext agentsvc_nb`: registers the magics."""
    _module("notebook.magics", "%load_ext agentsvc_nb").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext agentsvc_nb`."""
    _module("notebook.magics", "%unload_ext agentsvc_nb").unload_ipython_extension(shell)


def _module(home: str, wanted: str) -> ModuleType:
    """Raises `ImportError` with what to install, when only the client is."""
    try:
        return import_module(f"{__name__}.{home}")
    except ModuleNotFoundError as error:
        if _rest is not None or not (error.name or "").startswith(__name__):
            raise
        advice = f"{wanted} is not in agentsvc-client, which is all that is installed: pip install agentsvc-nb"
        raise ImportError(advice, name=error.name) from None


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_module(_HOMES[name], f"{__name__}.{name}"), name)
    return value


def __dir__() -> list[str]:
    there = _HOMES if _rest else ()
    return sorted({*globals(), *__all__, *there})
