"""`agentsvc mcp`: print the configuration for other programs that use MCP, or run the bridge that they start."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Final

from agentsvc_nb.cli.arguments import Parser, Subparsers

_KEY: Final = "KEY"
_NAME: Final = "agentsvc"
Entries = dict[str, str]
"""For each program, the configuration to paste or the command to run."""


def add_parsers(commands: Subparsers, data: Parser) -> None:
    mcp = commands.add_parser(
        "mcp",
        parents=[data],
        help="print the configuration with which editors and chat programs use this service",
    )
    mcp.add_argument("--stdio", action="store_true", help="run as an MCP server on standard input and output")
    mcp.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if args.stdio:
        return _bridge(args)
    _show(args)
    return 0


def _bridge(args: argparse.Namespace) -> int:
    from agentsvc_nb.cli import bridge
    from agentsvc_nb.client.origin import URL_VARIABLE, Origin
    from agentsvc_nb.embedded import find_or_start, revive

    def again() -> tuple[str, str]:
        found = revive(args.data)
        return found.base_url, found.api_key

    if args.data is None and os.environ.get(URL_VARIABLE):
        bridge.serve(Origin(None, None))
        return 0
    found = find_or_start(args.data)
    bridge.serve(Origin(found.api_key, found.base_url, again))
    return 0


def _show(args: argparse.Namespace) -> None:
    """Print the configurations. They have a placeholder for the key, because people may store or share the output."""
    from agentsvc_nb.client.origin import URL_VARIABLE
    from agentsvc_nb.wire.routes import MCP

    address = (os.environ.get(URL_VARIABLE) or "http://127.0.0.1:8787").rstrip("/") + MCP.path
    print("For programs on this machine. They need no key, and start the embedded service if necessary.")
    _print(_command_entries(_command(args.data)))
    print("\nFor programs that use a running service (`agentsvc serve`) by its address. Create a key with")
    print(f"`agentsvc keys create --name mcp --scope mcp`, and replace {_KEY} by it.")
    _print(_address_entries(address))


def _command(data: Path | None) -> list[str]:
    """Return the command that starts the bridge. It works in any folder and without this terminal's environment."""
    from agentsvc_nb.data_folder import DATA_VARIABLE

    program = [os.path.abspath(sys.argv[0])]
    if not os.path.basename(sys.argv[0]).startswith("agentsvc"):
        program = [sys.executable, "-m", "agentsvc_nb"]
    folder = data or os.environ.get(DATA_VARIABLE)
    named = ["--data", os.path.abspath(os.path.expanduser(folder))] if folder else []
    return [*program, "mcp", "--stdio", *named]


def _command_entries(command: list[str]) -> Entries:
    own = {"command": command[0], "args": command[1:]}
    shell = shlex.join(command)
    return {
        "Claude Desktop (Settings > Developer > Edit Config), Cursor (~/.cursor/mcp.json) and most other "
        "programs": _json({"mcpServers": {_NAME: own}}),
        "VS Code (.vscode/mcp.json)": _json({"servers": {_NAME: {"type": "stdio", **own}}}),
        "Zed (settings.json)": _json({"context_servers": {_NAME: own}}),
        "Claude Code": f"claude mcp add {_NAME} -- {shell}",
        "Codex": f"codex mcp add {_NAME} -- {shell}",
    }


def _address_entries(url: str) -> Entries:
    headers = {"Authorization": f"Bearer {_KEY}"}
    asked = {"type": "promptString", "id": "agentsvc-key", "description": "Key of agentsvc", "password": True}
    prompted = {"Authorization": "Bearer ${input:agentsvc-key}"}
    server = {"type": "http", "url": url, "headers": headers}
    asking = {"type": "http", "url": url, "headers": prompted}
    return {
        "Cursor (~/.cursor/mcp.json) and most other programs": _json({"mcpServers": {_NAME: server}}),
        "VS Code (.vscode/mcp.json), which prompts for the key": _json({"inputs": [asked], "servers": {_NAME: asking}}),
        "Zed (settings.json)": _json({"context_servers": {_NAME: {"url": url, "headers": headers}}}),
        "Claude Code": f'claude mcp add --transport http {_NAME} {url} --header "Authorization: Bearer {_KEY}"',
        "Codex, with the key in the variable SERVICE_API_KEY": (
            f"codex mcp add {_NAME} --url {url} --bearer-token-env-var SERVICE_API_KEY"
        ),
    }


def _print(entries: Entries) -> None:
    for program, entry in entries.items():
        print(f"\n{program}:\n\n{entry}")


def _json(entry: object) -> str:
    return json.dumps(entry, indent=2, ensure_ascii=False)
