"""Add, list and remove MCP servers, whose tools the runs of the embedded service may call (docs/mcp.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.results import Preview, PrintedText, Row, code, grid
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.session import EMBEDDED, Session
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.mcp.servers import OwnServers, ServerConfig
from agentsvc_nb.setting_types import server_address, server_name
from agentsvc_nb.wire.text import label

_ABOUT_CHARS: Final = 200
_KEPT: Final = {"keyring": ", with its key in the keyring", "file": ", with its key in a file that only you can read"}


def servers_add(
    session: Session,
    name: str,
    url: str = "",
    *,
    command: Sequence[str] = (),
    trusted: bool = False,
    key_as: str | None = None,
    ask_key: Callable[[str], str] | None = None,
) -> PrintedText:
    """Add the MCP server at a `url`, or one that a `command` starts. Later runs can use its tools.

    `ask_key(prompt)`, if given, asks the user for the server's key. With `trusted`, tools that the server declares
    read-only run without approval. Raises `AskError` when the name or address is not valid, the key is missing, or the
    notebook does not use the embedded service.
    """
    own = _own(session)
    try:
        server_name(name)
        allow = (urlsplit(server_address(url)).netloc.lower(),) if url else ()
    except ValueError as error:
        raise AskError(
            "The name or address of the MCP server is not valid; nothing was added.", f"Use {error}."
        ) from None
    if (ask_key is not None and command and not key_as) or (key_as and url):
        raise AskError(
            "--key is only valid for a URL, and --key-as only for a command; nothing was added.",
            "For a command use `--key-as VARIABLE`: it gets the key in that environment variable.",
        )
    key = ask_key(f"Key for {name} (not shown): ").strip() if ask_key is not None else ""
    if not key and (ask_key is not None or key_as):
        raise AskError(
            "The key is missing; nothing was added.",
            "Run the cell again and type the key where the notebook asks for it.",
        )
    server = ServerConfig(name, url, tuple(command), trusted, key, key_as or "", allow)
    where = own.add(server)
    belief = ", trusted" if trusted else ""
    return PrintedText(f"Added {name}: {server.place}{belief}{_KEPT.get(where, '')}. The next run can use its tools.")


def servers_remove(session: Session, name: str) -> PrintedText:
    """Remove an MCP server and its key. Raises `AskError` when no such server exists."""
    if not _own(session).remove(name):
        raise AskError(
            f"There is no MCP server {label(name, 80)}; nothing was removed.",
            "List the servers with `%agentsvc mcp list`.",
        )
    return PrintedText(f"Removed {name} and its key. The next run cannot use its tools.")


def servers(session: Session) -> Preview:
    """List the MCP servers that were added. Raises `AskError` when the notebook does not use the embedded service."""
    found = _own(session).read(keys=False)
    rows: list[Row] = [(code(one.name), one.place, "yes" if one.trusted else "") for one in found]
    notes = ["Add a server with `%agentsvc mcp add NAME URL`."] if not found else []
    return Preview(grid("MCP servers", ("name", "where", "trusted"), rows, notes))


def tools_bundle() -> Bundle | None:
    """Return a table of the tools that each MCP server had when the last run started. None if no servers exist."""
    own = OwnServers(DataFolder(data_folder(os.environ)))
    seen = own.last_offers()
    names = dict.fromkeys([*(one.name for one in own.read(keys=False)), *seen])
    rows: list[Row] = [row for name in names for row in _rows(name, seen.get(name))]
    note = "Only runs can call these tools. The list is from the start of the last run."
    return grid("Tools of MCP servers", ("tool", "server", "what it does"), rows, [note]) if rows else None


def _rows(name: str, seen: Any) -> list[Row]:
    if not isinstance(seen, dict):
        return [("", code(name), "no run has used this server yet")]
    if seen.get("away"):
        return [("", code(name), label(f"unavailable: {seen['away']}", _ABOUT_CHARS))]
    tools = [tool for tool in seen.get("tools") or () if isinstance(tool, dict)]
    return [(code(str(tool.get("name"))), name, label(str(tool.get("description")), _ABOUT_CHARS)) for tool in tools]


def _own(session: Session) -> OwnServers:
    if session.base_url != EMBEDDED:
        raise AskError(
            f"Only the operator of {session.base_url} can add MCP servers; nothing was changed.",
            "Use your own service with `%agentsvc connect local`. Operators set AGENTSVC_MCP_SERVERS.",
        )
    folder = DataFolder(data_folder(os.environ))
    folder.make()
    return OwnServers(folder)
