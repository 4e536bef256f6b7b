"""Paged lists, one item at a time.

`Paged` is a class with `next` and no async generator, because the blocking client must be able to `step` it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentsvc_nb.client.models import Listing
from agentsvc_nb.client.transport.io import step

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Fetch = Callable[[Any], Coroutine[Any, Any, tuple[list[T], Any]]]
"""Fetches the page at a cursor; returns its items and the next cursor, which is None after the last page."""


class Paged(Generic[T]):
    """The state of an iteration over pages: each page is fetched when its first item is needed."""

    def __init__(self, fetch: Fetch[T], start: Any, kind: type[T]) -> None:
        self._fetch, self._cursor, self._kind = fetch, start, kind
        self._items: deque[T] = deque()

    async def next(self) -> T | None:
        while not self._items and self._cursor is not None:
            items, self._cursor = await self._fetch(self._cursor)
            self._items.extend(items)
        return self._items.popleft() if self._items else None

    async def all(self) -> Listing[T]:
        found = Listing[T]([], self._kind)
        while (item := await self.next()) is not None:
            found.append(item)
        return found


class Pages(Generic[T]):
    """Iterate over it, or take the `first()`; it is walked once."""

    def __init__(self, paged: Paged[T]) -> None:
        self._paged = paged

    def first(self) -> T | None:
        """The next item, None when there is none left."""
        return step(self._paged.next())

    def all(self) -> Listing[T]:
        """All that are left, in one list."""
        return step(self._paged.all())

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
