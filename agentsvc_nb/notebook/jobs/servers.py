"""Add, list and remove MCP servers, whose tools runs of the embedded service may use (docs/mcp.md)."""

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
_KEPT: Final = {"keyring": ", its key in the keyring", "file": ", its key in a file that only you can read"}


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
    """Store a server at a `url`, or one that a `command` starts. Runs use it from the next one on.

    Calls `ask_key(prompt)`, if given, for its key. Raises `AskError` for an invalid name or address, for a missing key,
    and if the notebook uses another service than the embedded one.
    """
    own = _own(session)
    try:
        server_name(name)
        allow = (urlsplit(server_address(url)).netloc.lower(),) if url else ()
    except ValueError as error:
        raise AskError("That is no name or address of a server; nothing was added.", f"Give {error}.") from None
    if (ask_key is not None and command and not key_as) or (key_as and url):
        raise AskError(
            "A command gets its key in a variable; nothing was added.",
            "`--key-as VARIABLE` for a command, `--key` for a URL.",
        )
    key = ask_key(f"Key for {name} (not shown): ").strip() if ask_key is not None else ""
    if not key and (ask_key is not None or key_as):
        raise AskError("The key is missing; nothing was added.", "Type it where the notebook asks for it.")
    server = ServerConfig(name, url, tuple(command), trusted, key, key_as or "", allow)
    where = own.add(server)
    belief = ", trusted" if trusted else ""
    return PrintedText(f"{name} is {server.place}{belief}{_KEPT.get(where, '')}. The next run may use its tools.")


def servers_remove(session: Session, name: str) -> PrintedText:
    """Remove a server and its key. Raises `AskError` for an unknown server."""
    if not _own(session).remove(name):
        raise AskError(f"There is no server {label(name, 80)}.", "`%agentsvc mcp list` names them.")
    return PrintedText(f"{name} is removed, with its key. The next run has no tools of it.")


def servers(session: Session) -> Preview:
    """List the added servers. Raises `AskError` if the notebook uses another service than the embedded one."""
    found = _own(session).read(keys=False)
    rows: list[Row] = [(code(one.name), one.place, "yes" if one.trusted else "") for one in found]
    notes = ["`%agentsvc mcp add NAME URL` adds one."] if not found else []
    return Preview(grid("Servers of tools", ("name", "where", "trusted"), rows, notes))


def tools_bundle() -> Bundle | None:
    """Return the servers' tools as the embedded service last saw them; None without servers."""
    own = OwnServers(DataFolder(data_folder(os.environ)))
    seen = own.seen()
    names = dict.fromkeys([*(one.name for one in own.read(keys=False)), *seen])
    rows: list[Row] = [row for name in names for row in _rows(name, seen.get(name))]
    note = "Within runs only, as they were when one last began."
    return grid("Tools of servers", ("tool", "server", "what it does"), rows, [note]) if rows else None


def _rows(name: str, seen: Any) -> list[Row]:
    if not isinstance(seen, dict):
        return [("", code(name), "no run has asked it yet")]
    if seen.get("away"):
        return [("", code(name), label(f"away: {seen['away']}", _ABOUT_CHARS))]
    tools = [tool for tool in seen.get("tools") or () if isinstance(tool, dict)]
    return [(code(str(tool.get("name"))), name, label(str(tool.get("description")), _ABOUT_CHARS)) for tool in tools]


def _own(session: Session) -> OwnServers:
    if session.base_url != EMBEDDED:
        raise AskError(
            f"{session.base_url} has its servers of tools from its operator, and nobody else adds any.",
            "`%agentsvc connect local` uses your own service; operators set AGENTSVC_MCP_SERVERS.",
        )
    folder = DataFolder(data_folder(os.environ))
    folder.make()
    return OwnServers(folder)
