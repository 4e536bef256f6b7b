"""The public surface as text, one line per name: what users import, call and type. The tables of the docs have the API.

python -m tests.unit.repository.public_surface      writes it to public_surface.txt, with which a test compares it
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import agentsvc_nb
from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.cli import parser
from agentsvc_nb.notebook.magics import GROUPS
from docs.command_pages import commands

KEPT = Path(__file__).with_name("public_surface.txt")


def lines() -> list[str]:
    found = [*_names(), *_client(), *_magics(), *_commands()]
    return [re.sub(r" at 0x\w+", "", line) for line in found]


def _names() -> Iterator[str]:
    for name in sorted({*agentsvc_nb.__all__, "Chat", "ToolForm"}):
        value = getattr(agentsvc_nb, name)
        if isinstance(value, type):
            bases = ", ".join(base.__name__ for base in value.__mro__[1:-1] if not base.__name__.startswith("_"))
            yield f"agentsvc_nb.{name}({bases})"
        else:
            yield f"agentsvc_nb.{name}{inspect.signature(value) if callable(value) else ''}"


def _client() -> Iterator[str]:
    for face in (AgentService, AsyncAgentService):
        yield f"{face.__name__}{inspect.signature(face)}"
        client = face("svc_sk_surface")
        parts = [(f".{name}", part) for name, part in _public(client) if not inspect.ismethod(part)]
        for owner, holder in [("", client), *parts]:
            for name, method in _public(holder):
                if inspect.ismethod(method):
                    yield f"{face.__name__}{owner}.{name}{inspect.signature(method)}"


def _public(holder: object) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in inspect.getmembers(holder) if not name.startswith("_")]


def _magics() -> Iterator[str]:
    for group in GROUPS:
        for kind, sign in (("line", "%"), ("cell", "%%")):
            for name, method in group.magics[kind].items():
                yield f"{sign}{name} {_usage(getattr(group, method).parser)}"


def _commands() -> Iterator[str]:
    yield from (f"{name} {_usage(command)}" for name, _, command in commands(parser(), "agentsvc"))


def _usage(parser: argparse.ArgumentParser) -> str:
    """The arguments of a command or magic in one line."""
    return " ".join(parser.format_usage().partition(f"{parser.prog} ")[2].split())


if __name__ == "__main__":
    KEPT.write_text("\n".join(lines()) + "\n")
