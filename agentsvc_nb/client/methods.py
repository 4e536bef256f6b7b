"""Descriptors that turn an operation, written once as a coroutine on the core, into a method of both clients.

Each operation is listed once, in a class of `api.py`; the face of the instance (`Sync` or `Async`) decides whether its
method blocks or is awaited. The method has the operation's docstring and exact signature, for type checkers and for
`?` in a notebook.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from types import MethodType
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar, overload

from agentsvc_nb.client.request.options import Options, WaitOptions
from agentsvc_nb.client.request.request import Core
from agentsvc_nb.client.streams.event_stream import AsyncEventStream, EventStream, ResumableEventStream
from agentsvc_nb.client.streams.pages import AsyncPages, Paged, Pages
from agentsvc_nb.client.transport.io import step

P = ParamSpec("P")
R = TypeVar("R")


class Sync:
    """The face whose methods block until they have a result."""

    awaited: Final = False


class Async:
    """The face whose methods are awaited."""

    awaited: Final = True


F = TypeVar("F", bound=Sync | Async)
F_co = TypeVar("F_co", bound=Sync | Async, covariant=True)


class HasOperations(Protocol[F_co]):
    """Anything with a core and a face: a client, or a group of its operations."""

    @property
    def _core(self) -> Core: ...

    @property
    def _face(self) -> F_co: ...


class _Method:
    """A descriptor that binds the blocking or the awaited function, depending on the face of the instance."""

    def __init__(self, blocking: Callable[..., Any], awaited: Callable[..., Any]) -> None:
        self._blocking = blocking
        self._awaited = awaited

    def _bound(self, instance: HasOperations[Any] | None) -> Any:
        if instance is None:  # accessed on the class, as `help` does
            return self._blocking
        return MethodType(self._awaited if instance._face.awaited else self._blocking, instance)


class operation(_Method, Generic[P, R]):
    """A method that returns the operation's result."""

    def __init__(self, run: Callable[Concatenate[Core, P], Coroutine[Any, Any, R]]) -> None:
        def blocking(self: HasOperations[Sync], /, *args: P.args, **kwargs: P.kwargs) -> R:
            return step(run(self._core, *args, **kwargs))

        async def awaited(self: HasOperations[Async], /, *args: P.args, **kwargs: P.kwargs) -> R:
            return await run(self._core, *args, **kwargs)

        _document(run, blocking, awaited)
        super().__init__(blocking, awaited)

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(self, instance: HasOperations[Sync], owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, instance: HasOperations[Async], owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, instance: HasOperations[Any] | None, owner: type) -> Any:
        return self._bound(instance)


class stream(_Method, Generic[P]):
    """A method that returns an `EventStream` or `AsyncEventStream`, from an operation that returns a
    `ResumableEventStream`."""

    def __init__(self, run: Callable[Concatenate[Core, P], Coroutine[Any, Any, ResumableEventStream]]) -> None:
        def blocking(self: HasOperations[Sync], /, *args: P.args, **kwargs: P.kwargs) -> EventStream:
            return EventStream(step(run(self._core, *args, **kwargs)))

        async def awaited(self: HasOperations[Async], /, *args: P.args, **kwargs: P.kwargs) -> AsyncEventStream:
            return AsyncEventStream(await run(self._core, *args, **kwargs))

        _document(run, blocking, awaited, "EventStream", "AsyncEventStream")
        super().__init__(blocking, awaited)

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], EventStream]: ...
    @overload
    def __get__(self, instance: HasOperations[Sync], owner: type) -> Callable[P, EventStream]: ...
    @overload
    def __get__(
        self, instance: HasOperations[Async], owner: type
    ) -> Callable[P, Coroutine[Any, Any, AsyncEventStream]]: ...
    def __get__(self, instance: HasOperations[Any] | None, owner: type) -> Any:
        return self._bound(instance)


class pages(_Method, Generic[P, R]):
    """A method that returns `Pages` or `AsyncPages`, which fetch each page when the iteration reaches it."""

    def __init__(self, walk: Callable[Concatenate[Core, P], Paged[R]]) -> None:
        def blocking(self: HasOperations[Sync], /, *args: P.args, **kwargs: P.kwargs) -> Pages[R]:
            return Pages(walk(self._core, *args, **kwargs))

        def awaited(self: HasOperations[Async], /, *args: P.args, **kwargs: P.kwargs) -> AsyncPages[R]:
            return AsyncPages(walk(self._core, *args, **kwargs))

        returns = str(inspect.signature(walk).return_annotation)
        _document(walk, blocking, awaited, returns.replace("Paged", "Pages"), returns.replace("Paged", "AsyncPages"))
        super().__init__(blocking, awaited)

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], Pages[R]]: ...
    @overload
    def __get__(self, instance: HasOperations[Sync], owner: type) -> Callable[P, Pages[R]]: ...
    @overload
    def __get__(self, instance: HasOperations[Async], owner: type) -> Callable[P, AsyncPages[R]]: ...
    def __get__(self, instance: HasOperations[Any] | None, owner: type) -> Any:
        return self._bound(instance)


def _document(
    run: Callable[..., Any],
    blocking: Callable[..., Any],
    awaited: Callable[..., Any],
    *returns: str,
) -> None:
    """Give both functions the operation's docstring, name and signature; `returns` replaces the return types."""
    signature = _signature(run)
    for index, function in enumerate((blocking, awaited)):
        documented: Any = functools.update_wrapper(function, run)
        documented.__name__ = run.__name__.rstrip("_")
        documented.__signature__ = signature.replace(return_annotation=returns[index]) if returns else signature


def _signature(run: Callable[..., Any]) -> inspect.Signature:
    """The operation's signature, with `self` in place of `core`."""
    signature = inspect.signature(run)
    _, *given = (shown for parameter in signature.parameters.values() for shown in _expanded(parameter))
    return signature.replace(parameters=[inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *given])


def _expanded(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """`**options` as the keywords that it accepts, so that `?` and completion show them; other parameters as is."""
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return [parameter]
    fields = next(kind for kind in (Options, WaitOptions) if parameter.annotation == f"Unpack[{kind.__name__}]")
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in fields.__annotations__.items()
    ]
