"""The client's errors as a cell tells them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.failures import told
from agentsvc_nb.notebook.memory.session import Session


@contextmanager
def telling(session: Session) -> Iterator[None]:
    """What the client raises within is raised as an `AskError`: what, why, what to do."""
    try:
        yield
    except StefanBrainError as error:
        raise told(error, session.base_url) from None
