"""Bare Starlette on uvicorn, the peer of the reads: one route that answers bytes it has."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentsvc_nb.service.server import bind, origin


class Server(NamedTuple):
    """A process that answers."""

    base_url: str
    pid: int


@contextlib.contextmanager
def bare_starlette(path: str, body: bytes) -> Iterator[Server]:
    """A process that answers GET `path` with `body`, as JSON."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(path, body, theirs))
    process.start()
    try:
        assert process.pid is not None
        yield Server(ours.recv(), process.pid)
    finally:
        process.terminate()
        process.join()


def _serve(path: str, body: bytes, starter: Connection) -> None:
    async def answer(request: Request) -> Response:
        return Response(body, media_type="application/json")

    app = Starlette(routes=[Route(path, answer)])
    config = uvicorn.Config(app, loop="asyncio", ws="none", log_config=None, access_log=False, server_header=False)
    with bind("127.0.0.1", 0) as listening:  # it accepts connections already, and uvicorn will answer them
        starter.send(origin("127.0.0.1", listening.getsockname()[1]))
        uvicorn.Server(config).run(sockets=[listening])
