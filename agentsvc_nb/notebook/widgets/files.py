"""The file browser and the gallery of a chat: widgets if the host shows them, else static outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.display.results import Preview, ResultTable
from agentsvc_nb.notebook.files.gallery import found_pictures, gallery_bundle, static_gallery
from agentsvc_nb.notebook.files.workspace import files_table, listed
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback


def Files(chat: str | None = None) -> WidgetWithFallback | ResultTable:
    """The files of a chat to look through, as `%files browse` shows them; a table where no widgets are shown.

    Args:
        chat: the id of a chat; without it, this notebook's own.

    Raises:
        AskError: the service can't be reached, or knows no such chat.

    >>> import agentsvc_nb
    >>> agentsvc_nb.Files()  # doctest: +SKIP
    """
    from agentsvc_nb.notebook.host import here

    session, widgets = here()
    return files_browse(session, chat, widgets=widgets)


def files_browse(session: Session, chat: str | None = None, *, widgets: bool) -> WidgetWithFallback | ResultTable:
    """Return the file browser of this notebook's chat or of another; without `widgets`, a table of the files.

    Raises `AskError` when the service fails, or knows no such chat.
    """
    where = session.for_chat(chat) if chat else session
    found = listed(where) if where.known_chat(where.address()) else []
    table = files_table(where, found)
    if not widgets:
        return table
    from agentsvc_nb.notebook.widgets.browser import Browser
    from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback, fallback

    whose = f"chat {label(chat, 64)}" if chat else "this notebook's chat"
    count = f"{len(found):,} file{'s' * (len(found) != 1)}, {size(sum(file.size_bytes for file in found))}"
    again = f"`agentsvc_nb.Files({label(chat, 64)!r})`" if chat else "`%files browse`"
    shown = fallback(f"A browser of the files of {whose}: {count}.", again, table._repr_mimebundle_())
    return WidgetWithFallback(shown, Browser(where, found, own=not chat).parts.box)


def files_gallery(session: Session, pattern: str = "*", *, widgets: bool) -> WidgetWithFallback | Preview:
    """Return the gallery of this notebook's chat; without `widgets`, a static one.

    Raises `AskError` when no picture fits the glob, or the service fails.
    """
    if not widgets:
        return static_gallery(session, pattern)
    from agentsvc_nb.notebook.widgets.gallery import Gallery
    from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback, fallback

    found = found_pictures(session, pattern)
    count = f"{len(found.files)} picture{'s' * (len(found.files) != 1)}"
    shown = fallback(f"A gallery of this notebook's chat: {count}.", "`%files gallery`", gallery_bundle(found))
    return WidgetWithFallback(shown, Gallery(found).parts.box)
