"""Turn the coroutine methods of a resource into blocking methods, and iterate over the pages of a list.

A resource, such as `client.runs`, is written once, as a class of coroutine methods such as `AsyncRuns`. The class for
scripts and notebooks has a line such as `get = blocking(AsyncRuns.get)` for each method. The blocking method has the
same parameters, types and docstring. Blocking I/O never suspends a coroutine, so `run_sync` runs the coroutine to its
end without an event loop or a thread.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from agentsvc_nb.client.core import ApiRequest, Core
from agentsvc_nb.client.errors import circular_pages_error
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
    """The base class of a resource whose operations are coroutine methods."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def __init_subclass__(cls) -> None:
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                show_options(method)


class BlockingResource:
    """The base class of a resource whose operations block until they have a result."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource


# -- blocking methods -------------------------------------------------------------------------------------------------


def blocking(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[Any, P], R]:
    """Return a blocking method that runs the given coroutine method of the resource to its end."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return run_sync(method(self._resource, *args, **kwargs))

    return call


def streaming(
    method: Callable[Concatenate[Any, P], AsyncStreamStart[Data]],
) -> Callable[Concatenate[Any, P], EventStream[Data]]:
    """Return a blocking method that opens the stream of the given method, and returns an `EventStream`."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> EventStream[Data]:
        return EventStream(run_sync(method(self._resource, *args, **kwargs)._open()))

    return _set_return_type("EventStream", call)


def paging(method: Callable[Concatenate[Any, P], AsyncPages[T]]) -> Callable[Concatenate[Any, P], Pages[T]]:
    """Return a blocking method that returns the given method's items as `Pages`."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Pages[T]:
        return Pages(method(self._resource, *args, **kwargs))

    return _set_return_type(inspect.signature(method).return_annotation.removeprefix("Async"), call)


def _set_return_type(kind: str, call: Callable[P, R]) -> Callable[P, R]:
    """Make the help of a method show `kind` as the return type."""
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
    """Make help (`?`) and completion show the keyword arguments that a function takes as `**options`.

    Editors already know these arguments from the type annotation `Unpack`.
    """
    signature = inspect.signature(function)
    *parameters, last = signature.parameters.values()
    if last.kind is Parameter.VAR_KEYWORD and last.annotation in _OPTIONS:
        shown = signature.replace(parameters=[*parameters, *_OPTIONS[last.annotation]])
        vars(function)["__signature__"] = shown
    return function


# -- pages ------------------------------------------------------------------------------------------------------------

Fetch = Callable[[Any], Coroutine[Any, Any, tuple[Sequence[T], Any, str | None]]]
"""A function that fetches the page at a cursor.

It returns the page's items, the next cursor (None after the last page) and the request id.
"""


class AsyncPages(Generic[T]):
    """The items of a long list, for `async for`. The iteration fetches a page when you need the page's first item.

    You can iterate only once. `first()` takes one item, and `all()` takes the remaining items.

    >>> async for file in client.files.list("chat_1"):  # doctest: +SKIP
    ...     print(file.path)
    """

    # This is a class instead of an async generator, because `Pages` runs its coroutines without an event loop.

    def __init__(self, fetch: Fetch[T], start: Any, kind: type[T]) -> None:
        self._fetch = fetch
        self._cursor = start
        self._kind = kind
        self._items: deque[T] = deque()
        self._seen = {start}
        self._request_id: str | None = None

    async def first(self) -> T | None:
        """Return the next item, or None if no item is left."""
        while not self._items and self._cursor is not None:
            items, cursor, self._request_id = await self._fetch(self._cursor)
            if cursor in self._seen:
                raise circular_pages_error(cursor)
            self._seen.add(cursor)
            self._cursor = cursor
            self._items.extend(items)
        return self._items.popleft() if self._items else None

    async def all(self) -> Listing[T]:
        """Fetch all remaining pages, and return their items as one list with `to_frame()`."""
        found = Listing[T]([], self._kind)
        while (item := await self.first()) is not None:
            found.append(item)
        found._request_id = self._request_id
        return found

    async def to_frame(self) -> pd.DataFrame:
        """Return all remaining items as a DataFrame with one row per item. Raises `ImportError` without pandas."""
        return (await self.all()).to_frame()

    def __aiter__(self) -> AsyncPages[T]:
        return self

    async def __anext__(self) -> T:
        item = await self.first()
        if item is None:
            raise StopAsyncIteration
        return item


class Pages(Generic[T]):
    """The items of a long list, for `for`. The iteration fetches a page when you need the page's first item.

    You can iterate only once. `first()` takes one item, and `all()` takes the remaining items.

    >>> for file in client.files.list("chat_1"):  # doctest: +SKIP
    ...     print(file.path)
    """

    def __init__(self, pages: AsyncPages[T]) -> None:
        self._pages = pages

    def first(self) -> T | None:
        """Return the next item, or None if no item is left."""
        return run_sync(self._pages.first())

    def all(self) -> Listing[T]:
        """Fetch all remaining pages, and return their items as one list with `to_frame()`."""
        return run_sync(self._pages.all())

    def to_frame(self) -> pd.DataFrame:
        """Return all remaining items as a DataFrame with one row per item. Raises `ImportError` without pandas."""
        return self.all().to_frame()

    def __iter__(self) -> Pages[T]:
        return self

    def __next__(self) -> T:
        item = self.first()
        if item is None:
            raise StopIteration
        return item


def paginate(
    core: Core, route: str, query: Mapping[str, str | None], page: type[Any], kind: type[T], field: str = "data"
) -> AsyncPages[T]:
    """Return the items of all pages of a route. A page has its items in `field` and the next cursor in `next_after`."""

    async def fetch(after: str) -> tuple[list[T], str | None, str | None]:
        found = await core.ask(page, ApiRequest(route, query={**query, "after": after or None}))
        return getattr(found, field), found.next_after, found._request_id

    return AsyncPages(fetch, "", kind)
