"""The output area of a cell, and the screens, bars and cards in it, for each kind of host (`host.Mode`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.cards import Displayable, untypeset_bundle
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.screens import LiveScreen, SavedOutput, Screen, StaticScreen, TerminalScreen
from agentsvc_nb.notebook.host import Mode
from agentsvc_nb.notebook.kernel.pages import TARGET, NotebookPages
from agentsvc_nb.notebook.widgets.interactive_screen import InteractiveScreen
from agentsvc_nb.wire.text import label, worded

if TYPE_CHECKING:
    from agentsvc_nb.notebook.jobs.follower import JobScreen
    from agentsvc_nb.notebook.widgets.approvals import Decide
    from agentsvc_nb.notebook.widgets.card import CardScreen, QuietScreen
    from agentsvc_nb.notebook.widgets.front import Front
    from agentsvc_nb.notebook.widgets.limit_card import RaiseLimit


VIEW: Final = "application/vnd.jupyter.widget-view+json"


class CellOutput:
    """The output area of the running cell. Except for `update`, call its methods on the main thread only: in another
    thread, they would write to the output of another cell.

    Args:
        mark: metadata that name the cell. They are sent with each message, for a page that is reloaded while the cell
            runs, and are not saved.
    """

    def __init__(self, shell: Any, mark: Mapping[str, Any] | None = None) -> None:
        self._pub = shell.display_pub
        self._mark = {TARGET: dict(mark)} if mark else {}

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        transient = {"display_id": display_id, **self._mark} if display_id else self._mark
        self._pub.publish(data=untypeset_bundle(bundle), metadata=dict(metadata or {}), transient=transient)

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        self.show(bundle, display_id=display_id)

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        """Change an output. May be called from any thread."""
        transient = {"display_id": display_id, **self._mark}
        self._pub.publish(
            data=untypeset_bundle(bundle), metadata=dict(metadata or {}), transient=transient, update=True
        )

    def clear(self) -> None:
        self._pub.clear_output(wait=True)


class PageOutput(CellOutput):
    """A cell's output area in voila. Outputs that may change are widgets.

    After a cell has ended, voila ignores updates of its other outputs.
    """

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._places: dict[str, Front] = {}

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        if display_id and VIEW not in bundle:
            self._places[display_id] = place = static_front(bundle)
            shown, more = place._repr_mimebundle_()
            bundle, metadata = {**bundle, **shown}, {**(metadata or {}), **more}
        super().show(bundle, metadata=metadata)

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        """Do nothing, because a voila page is not saved."""

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        if place := self._places.get(display_id):
            place.change({"closed": bundle["text/html"]})


def static_front(bundle: Bundle) -> Front:
    """Return a widget that displays a static output."""
    from agentsvc_nb.notebook.widgets.card import card_front

    front = card_front()
    front.change({"closed": bundle["text/html"]})
    return front


class TerminalOutput:
    """Prints outputs as plain text on stdout."""

    def show(self, bundle: Bundle, *, display_id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        print(bundle["text/plain"])

    def keep(self, bundle: Bundle, *, display_id: str | None = None) -> None:
        self.show(bundle)

    def update(self, bundle: Bundle, display_id: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        pass

    def clear(self) -> None:
        pass


def screen(shell: Any, how: Mode, pages: NotebookPages | None = None, raise_limit: RaiseLimit | None = None) -> Screen:
    """Return the screen for a foreground run on this kind of host.

    Pass `raise_limit` only if clicks arrive while the cell runs. The screen then has buttons to approve code and to
    raise the cost limit.
    """
    if how == "terminal":
        return TerminalScreen(sys.stdout)
    area = output(shell, how, pages)
    if how != "live":
        return StaticScreen(area)
    reloads = (lambda: pages.reloads) if pages else (lambda: 0)
    if raise_limit:
        return InteractiveScreen(area, raise_limit, reloads=reloads)
    return LiveScreen(area, reloads=reloads)


def card(shell: Any, how: Mode, decide: Decide, raise_limit: RaiseLimit) -> CardScreen | QuietScreen:
    """Return the screen of a background run.

    Its buttons call `decide` with a decision about a tool call, and `raise_limit` with a new cost limit. In a terminal,
    it has no buttons.
    """
    from agentsvc_nb.notebook.widgets.card import CardScreen, QuietScreen

    return QuietScreen() if how == "terminal" else CardScreen(output(shell, how), decide, raise_limit)


def jobs_screen(shell: Any, how: Mode) -> JobScreen:
    if how not in ("live", "page"):
        from agentsvc_nb.notebook.jobs.follower import SubmittedScreen

        return SubmittedScreen(output(shell, how))
    from agentsvc_nb.notebook.widgets.card import BarsScreen

    return BarsScreen(output(shell, how))


def output(shell: Any, how: Mode, pages: NotebookPages | None = None) -> SavedOutput:
    """Return the output area of the running cell on this kind of host. With `pages`, its messages name the cell."""
    if how == "terminal":
        return TerminalOutput()
    return PageOutput(shell) if how == "page" else CellOutput(shell, pages.output_metadata() if pages else None)


class WidgetWithFallback(Displayable):
    """A cell value with two outputs: a line with a static version of the widget folded below it, and the widget."""

    def __init__(self, summary: Bundle, widget: Front) -> None:
        self.summary = summary
        self.widget = widget

    def _ipython_display_(self) -> None:
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        area = output(shell, host.mode(shell))
        area.keep(self.summary)
        data, metadata = self.widget._repr_mimebundle_()
        area.show({**data, "text/plain": ""}, metadata=metadata)

    def _display_(self) -> Any:
        """Return both outputs. marimo calls this."""
        import marimo

        return marimo.vstack([marimo.Html(self.summary["text/html"]), self.widget])

    def __repr__(self) -> str:
        return self.summary["text/plain"]

    def _mimebundle(self) -> Bundle:
        return dict(self.summary)


def fallback(said: str, again: str, shown: Bundle) -> Bundle:
    """Return the static output above a widget: the line `said`, with the command `again` that shows the widget again.

    A click on the line shows the output `shown`.
    """
    line = f"{label(said, 300)} After reopening the notebook, run {again} to show it again."
    return {
        "text/plain": f"{line}\n{shown['text/plain']}",
        "text/html": f'<div role="note"><details><summary style="{SMALL}">{worded(line, 600)}</summary>'
        f"{shown['text/html']}</details></div>",
    }
