"""From an operation, written once on the core, to a method of a face.

A method keeps the operation's docstring and exact signature, for type checkers and for `?` in a notebook.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from agentsvc_nb.client.request.options import Options, WaitOptions
from agentsvc_nb.client.request.request import Core
from agentsvc_nb.client.streams.event_stream import AsyncEventStream, EventStream, ResumableEventStream
from agentsvc_nb.client.streams.pages import AsyncPages, Paged, Pages
from agentsvc_nb.client.transport.io import step

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Operation = Callable[Concatenate[Core, P], Coroutine[Any, Any, R]]
Walk = Callable[Concatenate[Core, P], Paged[R]]


def _expanded(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """`**options` as the keywords that it stands for, so that `?` and completion show them."""
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return [parameter]
    fields = next(kind for kind in (Options, WaitOptions) if parameter.annotation == f"Unpack[{kind.__name__}]")
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in fields.__annotations__.items()
    ]


@functools.cache  # both faces show it
def _signature(operation: Callable[..., Any]) -> inspect.Signature:
    """The operation's, with `self` in place of `core`."""
    signature = inspect.signature(operation)
    _, *given = (shown for parameter in signature.parameters.values() for shown in _expanded(parameter))
    return signature.replace(parameters=[inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *given])


def _dressed(face: F, operation: Callable[..., Any], returns: str | None = None) -> F:
    """`face` with the operation's docstring and signature."""
    dressed: Any = functools.update_wrapper(face, operation)
    signature = _signature(operation)
    dressed.__signature__ = signature.replace(return_annotation=returns) if returns else signature
    dressed.__name__ = operation.__name__.rstrip("_")
    return face


def _walked(walk: Callable[..., Any], pages: str) -> str:
    return str(inspect.signature(walk).return_annotation).replace("Paged", pages)


def sync(operation: Operation[P, R]) -> Callable[Concatenate[Any, P], R]:
    def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return step(operation(self._core, *args, **kwargs))

    return _dressed(face, operation)


def aio(operation: Operation[P, R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    async def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await operation(self._core, *args, **kwargs)

    return _dressed(face, operation)


def sync_stream(operation: Operation[P, ResumableEventStream]) -> Callable[Concatenate[Any, P], EventStream]:
    def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> EventStream:
        return EventStream(step(operation(self._core, *args, **kwargs)))

    return _dressed(face, operation, "EventStream")


def aio_stream(
    operation: Operation[P, ResumableEventStream],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, AsyncEventStream]]:
    async def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncEventStream:
        return AsyncEventStream(await operation(self._core, *args, **kwargs))

    return _dressed(face, operation, "AsyncEventStream")


def sync_pages(walk: Walk[P, R]) -> Callable[Concatenate[Any, P], Pages[R]]:
    def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Pages[R]:
        return Pages(walk(self._core, *args, **kwargs))

    return _dressed(face, walk, _walked(walk, "Pages"))


def aio_pages(walk: Walk[P, R]) -> Callable[Concatenate[Any, P], AsyncPages[R]]:
    def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncPages[R]:
        return AsyncPages(walk(self._core, *args, **kwargs))

    return _dressed(face, walk, _walked(walk, "AsyncPages"))
