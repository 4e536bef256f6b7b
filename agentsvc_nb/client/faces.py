"""Turn the coroutine methods of a resource into blocking methods, and iterate over pages.

Each resource is one class of coroutine methods, such as `AsyncRuns`. Next to it, the class for scripts and notebooks
names the same methods, `get = blocking(AsyncRuns.get)`, with the same parameters, types and docstring. Blocking I/O
never suspends, so `run_sync` runs the coroutine to its end without an event loop or a thread.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from agentsvc_nb.client.core import ApiRequest, Core
from agentsvc_nb.client.errors import circular_pages
from agentsvc_nb.client.models import Data, Listing
from agentsvc_nb.client.options import ClientOptions, Options, WaitOptions
from agentsvc_nb.client.streams import AsyncStreamStart, EventStream
from agentsvc_nb.client.transport.io import run_sync

if TYPE_CHECKING:
    import pandas as pd

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Resource:
    """The operations of one resource as coroutine methods on one core."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def __init_subclass__(cls) -> None:
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                show_options(method)


class BlockingResource:
    """The same operations as methods that block until they have a result; see `blocking`."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource


# -- from coroutine methods to blocking ones --------------------------------------------------------------------------


def blocking(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[Any, P], R]:
    """Return a method that runs a coroutine method of the resource to its end."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return run_sync(method(self._resource, *args, **kwargs))

    return call


def streaming(
    method: Callable[Concatenate[Any, P], AsyncStreamStart[Data]],
) -> Callable[Concatenate[Any, P], EventStream[Data]]:
    """Return a method that opens a stream of events to iterate over."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> EventStream[Data]:
        return EventStream(run_sync(method(self._resource, *args, **kwargs)._open()))

    return _returning("EventStream", call)


def paging(method: Callable[Concatenate[Any, P], AsyncPages[T]]) -> Callable[Concatenate[Any, P], Pages[T]]:
    """Return a method that returns pages to iterate over."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Pages[T]:
        return Pages(method(self._resource, *args, **kwargs))

    return _returning(inspect.signature(method).return_annotation.removeprefix("Async"), call)


def _returning(kind: str, call: Callable[P, R]) -> Callable[P, R]:
    """Make `?` show that a method returns `kind`."""
    vars(call)["__signature__"] = inspect.signature(call).replace(return_annotation=kind)
    return call


# -- options in signatures --------------------------------------------------------------------------------------------

_OPTIONS: Final = {
    f"Unpack[{options.__name__}]": [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in options.__annotations__.items()
    ]
    for options in (Options, WaitOptions, ClientOptions)
}


def show_options(function: F) -> F:
    """Make `?` and completion show the keywords that a function takes as `**options`. Editors know them by the type."""
    signature = inspect.signature(function)
    *parameters, last = signature.parameters.values()
    if last.kind is Parameter.VAR_KEYWORD and last.annotation in _OPTIONS:
        shown = signature.replace(parameters=[*parameters, *_OPTIONS[last.annotation]])
        vars(function)["__signature__"] = shown
    return function


# -- pages ------------------------------------------------------------------------------------------------------------

Fetch = Callable[[Any], Coroutine[Any, Any, tuple[Sequence[T], Any, str | None]]]
"""Fetches the page at a cursor. Returns its items, the next cursor (None after the last page) and the request id."""


class AsyncPages(Generic[T]):
    """Items over all pages: use `async for`, or await `first()`. A page is fetched when its first item is needed.

    You can iterate once. This is a class instead of an async generator, because `Pages` runs its coroutines without an
    event loop.
    """

    def __init__(self, fetch: Fetch[T], start: Any, kind: type[T]) -> None:
        self._fetch = fetch
        self._cursor = start
        self._kind = kind
        self._items: deque[T] = deque()
        self._seen = {start}
        self._request_id: str | None = None

    async def first(self) -> T | None:
        """Return the next item, or None if none is left."""
        while not self._items and self._cursor is not None:
            items, cursor, self._request_id = await self._fetch(self._cursor)
            if cursor in self._seen:
                raise circular_pages(cursor)
            self._seen.add(cursor)
            self._cursor = cursor
            self._items.extend(items)
        return self._items.popleft() if self._items else None

    async def all(self) -> Listing[T]:
        """Return all remaining items as one list."""
        found = Listing[T]([], self._kind)
        while (item := await self.first()) is not None:
            found.append(item)
        found._request_id = self._request_id
        return found

    async def to_frame(self) -> pd.DataFrame:
        """Return all remaining items as a DataFrame with one row per item; see `Listing.to_frame`."""
        return (await self.all()).to_frame()

    def __aiter__(self) -> AsyncPages[T]:
        return self

    async def __anext__(self) -> T:
        item = await self.first()
        if item is None:
            raise StopAsyncIteration
        return item


class Pages(Generic[T]):
    """Items over all pages: iterate, or take the `first()`. A page is fetched when its first item is needed.

    You can iterate once.
    """

    def __init__(self, pages: AsyncPages[T]) -> None:
        self._pages = pages

    def first(self) -> T | None:
        """Return the next item, or None if none is left."""
        return run_sync(self._pages.first())

    def all(self) -> Listing[T]:
        """Return all remaining items as one list."""
        return run_sync(self._pages.all())

    def to_frame(self) -> pd.DataFrame:
        """Return all remaining items as a DataFrame with one row per item; see `Listing.to_frame`."""
        return self.all().to_frame()

    def __iter__(self) -> Pages[T]:
        return self

    def __next__(self) -> T:
        item = self.first()
        if item is None:
            raise StopIteration
        return item


def paged(
    core: Core, route: str, query: Mapping[str, str | None], page: type[Any], kind: type[T], field: str = "data"
) -> AsyncPages[T]:
    """Return the items of all pages of a route. Pages hold items in `field` and link with `next_after`."""

    async def fetch(after: str) -> tuple[list[T], str | None, str | None]:
        found = await core.ask(page, ApiRequest(route, query={**query, "after": after or None}))
        return getattr(found, field), found.next_after, found._request_id

    return AsyncPages(fetch, "", kind)
