"""What makes an operation, written once as a coroutine on the core, a method of both clients.

Each operation is listed once, in a class of `api.py`; the face of the instance (`Sync` or `Async`) decides whether its
method blocks or is awaited. The method has the operation's docstring and exact signature, for type checkers and for
`?` in a notebook. What an operation reads piece by piece, events or pages, has an iterator for each face.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from agentsvc_nb.client.core import ApiRequest, Core
from agentsvc_nb.client.errors import circular_pages
from agentsvc_nb.client.event_streams import AsyncStreamStart, EventStream
from agentsvc_nb.client.models import Listing
from agentsvc_nb.client.options import Options, WaitOptions
from agentsvc_nb.client.streams import ResumableEventStream
from agentsvc_nb.client.transport.io import run_sync

if TYPE_CHECKING:
    import pandas as pd


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
D = TypeVar("D", bound=Callable[..., Any])


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

    def __init__(self, run: Callable[..., Any], blocking: Callable[..., Any], awaited: Callable[..., Any]) -> None:
        self._run = run
        self._blocking = blocking
        self._awaited = awaited
        self._name = run.__name__
        self._help = run.__doc__
        self._documented = False

    def __set_name__(self, owner: type, name: str) -> None:
        # The name in the class, as users call it: that of the function tells apart what one module has several of.
        self._name = name

    def _returns(self) -> Sequence[str]:
        """The types that the two functions return, where they differ from the operation's."""
        return ()

    def _document(self) -> None:
        """Give both functions the operation's docstring, name and signature.

        When one is asked for: for all 44 operations it would take 2 ms of each client's first call.
        """
        signature, returns = _signature(self._run), self._returns()
        for index, function in enumerate((self._blocking, self._awaited)):
            documented: Any = functools.update_wrapper(function, self._run)
            documented.__name__, documented.__doc__ = self._name, self._help
            documented.__signature__ = signature.replace(return_annotation=returns[index]) if returns else signature
        self._documented = True

    def _bound(self, instance: HasOperations[Any] | None) -> Any:
        if not self._documented:
            self._document()
        if instance is None:  # accessed on the class, as `help` does
            return self._blocking
        return MethodType(self._awaited if instance._face.awaited else self._blocking, instance)


class operation(_Method, Generic[P, R]):
    """A method that returns the operation's result."""

    def __init__(self, run: Callable[Concatenate[Core, P], Coroutine[Any, Any, R]]) -> None:
        def blocking(self: HasOperations[Sync], /, *args: P.args, **kwargs: P.kwargs) -> R:
            return run_sync(run(self._core, *args, **kwargs))

        async def awaited(self: HasOperations[Async], /, *args: P.args, **kwargs: P.kwargs) -> R:
            return await run(self._core, *args, **kwargs)

        super().__init__(run, blocking, awaited)

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(self, instance: HasOperations[Sync], owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, instance: HasOperations[Async], owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, instance: HasOperations[Any] | None, owner: type) -> Any:
        return self._bound(instance)


# -- events -----------------------------------------------------------------------------------------------------------


class stream(_Method, Generic[P]):
    """A method that returns an `EventStream` or an `AsyncStreamStart`, from an operation that returns a
    `ResumableEventStream`."""

    def __init__(self, run: Callable[Concatenate[Core, P], Coroutine[Any, Any, ResumableEventStream]]) -> None:
        def blocking(self: HasOperations[Sync], /, *args: P.args, **kwargs: P.kwargs) -> EventStream:
            return EventStream(run_sync(run(self._core, *args, **kwargs)))

        def awaited(self: HasOperations[Async], /, *args: P.args, **kwargs: P.kwargs) -> AsyncStreamStart:
            return AsyncStreamStart(lambda: run(self._core, *args, **kwargs))

        super().__init__(run, blocking, awaited)

    def _returns(self) -> Sequence[str]:
        return "EventStream", "AsyncStreamStart"

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], EventStream]: ...
    @overload
    def __get__(self, instance: HasOperations[Sync], owner: type) -> Callable[P, EventStream]: ...
    @overload
    def __get__(self, instance: HasOperations[Async], owner: type) -> Callable[P, AsyncStreamStart]: ...
    def __get__(self, instance: HasOperations[Any] | None, owner: type) -> Any:
        return self._bound(instance)


# -- pages ----------------------------------------------------------------------------------------------------------

Fetch = Callable[[Any], Coroutine[Any, Any, tuple[list[T], Any, str | None]]]
"""Fetches the page at a cursor; returns its items, the next cursor, which is None after the last page, and the id of
the request."""


class Paged(Generic[T]):
    """The state of an iteration over pages: each page is fetched when its first item is needed.

    A class with `next` and no async generator, because the blocking client must be able to `run_sync` it.
    """

    def __init__(self, fetch: Fetch[T], start: Any, kind: type[T]) -> None:
        self._fetch = fetch
        self._cursor = start
        self._kind = kind
        self._items: deque[T] = deque()
        self._seen = {start}
        self._request_id: str | None = None

    async def next(self) -> T | None:
        while not self._items and self._cursor is not None:
            items, cursor, self._request_id = await self._fetch(self._cursor)
            if cursor in self._seen:
                raise circular_pages(cursor)
            self._seen.add(cursor)
            self._cursor = cursor
            self._items.extend(items)
        return self._items.popleft() if self._items else None

    async def all(self) -> Listing[T]:
        found = Listing[T]([], self._kind)
        while (item := await self.next()) is not None:
            found.append(item)
        found._request_id = self._request_id
        return found


def paged(core: Core, route: str, query: dict[str, str | None], page: type[Any], kind: type[T]) -> Paged[T]:
    """What a route lists in pages with `data` and `next_after`."""

    async def fetch(after: str) -> tuple[list[T], str | None, str | None]:
        found = await core.ask(page, ApiRequest(route, query={**query, "after": after or None}))
        return found.data, found.next_after, found._request_id

    return Paged(fetch, "", kind)


class Pages(Generic[T]):
    """Iterate over it, or take the `first()`; it is walked once."""

    def __init__(self, paged: Paged[T]) -> None:
        self._paged = paged

    def first(self) -> T | None:
        """The next item, None when there is none left."""
        return run_sync(self._paged.next())

    def all(self) -> Listing[T]:
        """All that are left, in one list."""
        return run_sync(self._paged.all())

    def to_frame(self) -> pd.DataFrame:
        """All that are left as a DataFrame, a row each; see `Listing.to_frame`."""
        return self.all().to_frame()

    def __iter__(self) -> Pages[T]:
        return self

    def __next__(self) -> T:
        item = self.first()
        if item is None:
            raise StopIteration
        return item


class AsyncPages(Generic[T]):
    """`async for` over it, or `await first()`; it is walked once."""

    def __init__(self, paged: Paged[T]) -> None:
        self._paged = paged

    async def first(self) -> T | None:
        """The next item, None when there is none left."""
        return await self._paged.next()

    async def all(self) -> Listing[T]:
        """All that are left, in one list."""
        return await self._paged.all()

    async def to_frame(self) -> pd.DataFrame:
        """All that are left as a DataFrame, a row each; see `Listing.to_frame`."""
        return (await self.all()).to_frame()

    def __aiter__(self) -> AsyncPages[T]:
        return self

    async def __anext__(self) -> T:
        item = await self._paged.next()
        if item is None:
            raise StopAsyncIteration
        return item


class pages(_Method, Generic[P, R]):
    """A method that returns `Pages` or `AsyncPages`, which fetch each page when the iteration reaches it."""

    def __init__(self, walk: Callable[Concatenate[Core, P], Paged[R]]) -> None:
        def blocking(self: HasOperations[Sync], /, *args: P.args, **kwargs: P.kwargs) -> Pages[R]:
            return Pages(walk(self._core, *args, **kwargs))

        def awaited(self: HasOperations[Async], /, *args: P.args, **kwargs: P.kwargs) -> AsyncPages[R]:
            return AsyncPages(walk(self._core, *args, **kwargs))

        super().__init__(walk, blocking, awaited)

    def _returns(self) -> Sequence[str]:
        returns = str(inspect.signature(self._run).return_annotation)
        return returns.replace("Paged", "Pages"), returns.replace("Paged", "AsyncPages")

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], Pages[R]]: ...
    @overload
    def __get__(self, instance: HasOperations[Sync], owner: type) -> Callable[P, Pages[R]]: ...
    @overload
    def __get__(self, instance: HasOperations[Async], owner: type) -> Callable[P, AsyncPages[R]]: ...
    def __get__(self, instance: HasOperations[Any] | None, owner: type) -> Any:
        return self._bound(instance)


def declared(method: operation[..., Any] | stream[...]) -> Callable[[D], D]:
    """Decorates a method that is written out for type checkers and editors: it becomes `method`, with its docstring."""

    def documented(declaration: D) -> D:
        method._help = declaration.__doc__
        return cast(D, method)

    return documented


# -- docstrings and signatures --------------------------------------------------------------------------------------


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
