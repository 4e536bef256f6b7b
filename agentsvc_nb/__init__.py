"""Ask an agent from a notebook cell, watch it work, and keep its results.

        notebook/            magics, widgets, rendering        only this folder uses IPython and ipywidgets
            |
        embedded.py          finds `agentsvc serve` on loopback or starts it, and returns a client for it
         /       \\
    client/      service/    siblings: never import each other
        |         |    \\
        |         |   agents/, tools/    agents that answer, and their tools; they see only their ports
        |       documents/                 makes foreign content safe and readable
         \\         /
          wire/              the data that client and service exchange

`cli/` and `testing.py` are on top. `import agentsvc_nb` loads none of these: each name is imported at its first use.

    from agentsvc_nb import local              # a service and a client on this machine
    from agentsvc_nb import AgentService       # a client of a service elsewhere
    %load_ext agentsvc_nb                      # the magics
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService, AsyncAgentService
    from agentsvc_nb.client.batch import MapProgress, MapStopped
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
    from agentsvc_nb.client.events import Event, RunEvent
    from agentsvc_nb.client.models import Answer, Job, Run
    from agentsvc_nb.client.options import RetryNotice, WaitNotice
    from agentsvc_nb.client.streams import AsyncEventStream, EventStream
    from agentsvc_nb.embedded import local
    from agentsvc_nb.notebook.commands import Files, Gallery
    from agentsvc_nb.notebook.previews.decoding import read_table
    from agentsvc_nb.notebook.widgets.chat.chat import Chat as Chat
    from agentsvc_nb.notebook.widgets.form import ToolForm as ToolForm
    from agentsvc_nb.wire.files import WorkspaceFile
    from agentsvc_nb.wire.tools import JobAccepted, ToolResult

__version__ = "0.1.0"
DEVELOPER_SDK_SPEC_VERSION = "1.0.0"
"""The version of the API's specification that the client implements."""

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
    "load_ipython_extension",
    "local",
    "read_table",
    "unload_ipython_extension",
]
# `Chat` and `ToolForm` are not listed, because they need IPython, which `from agentsvc_nb import *` must not import.

_MODULES = {
    "AgentService": "client.api",
    "Answer": "client.models",
    "AsyncAgentService": "client.api",
    "AsyncEventStream": "client.streams",
    "ClientTool": "client.client_tools",
    "Chat": "notebook.widgets.chat.chat",
    "Event": "client.events",
    "EventStream": "client.streams",
    "Files": "notebook.commands",
    "Gallery": "notebook.commands",
    "MapProgress": "client.batch",
    "MapStopped": "client.batch",
    "Job": "client.models",
    "JobAccepted": "wire.tools",
    "RetryNotice": "client.options",
    "Run": "client.models",
    "RunEvent": "client.events",
    "ToolForm": "notebook.widgets.form",
    "ToolResult": "wire.tools",
    "WaitNotice": "client.options",
    "WorkspaceFile": "wire.files",
    "local": "embedded",
    "read_table": "notebook.previews.decoding",
    **{name: "client.errors" for name in __all__ if name.endswith("Error")},
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"agentsvc_nb.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


def load_ipython_extension(shell: Any) -> None:
    """Register the magics. IPython calls this function for `%load_ext agentsvc_nb`."""
    import_module("agentsvc_nb.notebook.magics").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Unregister the magics. IPython calls this function for `%unload_ext agentsvc_nb`."""
    import_module("agentsvc_nb.notebook.magics").unload_ipython_extension(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Return where the JupyterLab extension is, for `jupyter-builder develop`, which links it for development."""
    return [{"src": "labextension", "dest": "agentsvc-nb"}]
