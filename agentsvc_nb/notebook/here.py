"""The session of this notebook, for public functions that are called without a magic."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from agentsvc_nb.notebook.state.session import Session


class LoadedMagics(Protocol):
    """The part of `magics.context.MagicsContext` that is used here."""

    @property
    def session(self) -> Session: ...
    @property
    def widgets(self) -> bool: ...


contexts: WeakKeyDictionary[Any, LoadedMagics] = WeakKeyDictionary()
"""The context of each shell in which the magics are loaded."""


def here() -> tuple[Session, bool]:
    """Return the session, and whether the host shows widgets.

    The session is that of the magics if they are loaded, else one per process and notebook.
    """
    from IPython.core.getipython import get_ipython

    from agentsvc_nb.notebook import host

    if (shell := get_ipython()) is None:
        return _alone(None), False
    if context := contexts.get(shell):
        return context.session, context.widgets
    return _alone(host.notebook(shell)), host.shows_widgets(shell)


@functools.cache
def _alone(notebook: str | None) -> Session:
    from agentsvc_nb.notebook.state.session import Session

    return Session(notebook)
