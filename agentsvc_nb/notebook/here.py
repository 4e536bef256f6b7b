"""The session of this notebook, for functions that are called without a magic."""

from __future__ import annotations

import functools

from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.session import Session


def here() -> tuple[Session, bool]:
    """The session, and whether widgets are shown here. The magics' own where they are loaded, else one a process."""
    from IPython.core.getipython import get_ipython

    from agentsvc_nb.notebook.magics.desk import Group

    if (shell := get_ipython()) is None:
        return _alone(None), False
    for part in shell.configurables:
        if isinstance(part, Group):
            return part.session, part.desk.widgets
    return _alone(host.notebook(shell)), host.shows_widgets(shell)


@functools.cache
def _alone(notebook: str | None) -> Session:
    return Session(notebook)
