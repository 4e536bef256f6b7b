"""The style sheet of the widgets, the parts they share, and a widget's worker thread."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal

import ipywidgets
import traitlets

from agentsvc_nb.client.cards import untypeset
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.wire.text import label, plain, worded


def keep_addressed(widget: ipywidgets.Widget) -> None:
    """Handle messages to this widget, and to its current and future children, in the subshell they are addressed to.

    ipykernel 7.4 uses the subshell of the last message sent instead, which may be gone (docs/decisions/0025).
    """
    if widget.comm is None or getattr(widget.comm, "_reply_subshell_for", None) is _as_addressed:
        return
    widget.comm._reply_subshell_for = _as_addressed
    if widget.has_trait("children"):
        widget.observe(lambda change: _keep_all(change["new"]), "children")
        _keep_all(widget.children)


def _keep_all(widgets: tuple[ipywidgets.Widget, ...]) -> None:
    for each in widgets:
        keep_addressed(each)


def _as_addressed(data: Any, subshell: str | None) -> str | None:
    return subshell


class Worker:
    """A thread that executes a widget's tasks in order.

    Args:
        failed: called with a sentence for each task that failed.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed = failed
        self._pool = ThreadPoolExecutor(1, "agentsvc-widget")
        self._lock = threading.Lock()
        self._newest: dict[str, object] = {}

    def do(self, kind: str, work: Callable[[], object]) -> None:
        """Queue a task. It is skipped if a newer task of its kind is queued before its turn."""
        mark = object()
        with self._lock:
            self._newest[kind] = mark
        self._pool.submit(self._turn, kind, mark, work)

    def _turn(self, kind: str, mark: object, work: Callable[[], object]) -> None:
        with self._lock:
            if self._newest.get(kind) is not mark:
                return
            del self._newest[kind]
        try:
            work()
        except AskError as error:
            self._failed(f"{error} {error.hint}".strip())
        except Exception as error:  # an error in a thread would go unseen: the widget shows it and goes on
            self._failed(f"That went wrong: {type(error).__name__}: {error}")


SAID_CHARS: Final = 1_000
STYLE: Final = """<style>
.asvc { max-width: 100%; color: var(--jp-ui-font-color1, inherit); font-size: var(--jp-ui-font-size1, 13px); }
.asvc .asvc-muted { color: var(--jp-ui-font-color2, #767676); }
.asvc .asvc-wrong { color: var(--jp-error-color1, #dd3333); }
.asvc-card { border: 1px solid var(--jp-border-color2, #8884); border-radius: 6px; padding: 8px 12px; margin: 4px 0; }
.asvc table { margin-left: 0; }
.asvc .widget-html-content, .asvc .widget-htmlmath-content { line-height: 1.4; }
.asvc .asvc-lines { margin: 4px 0 0; padding: 0 0 0 8px; border-left: 2px solid var(--jp-border-color2, #8884);
    background: none; color: var(--jp-ui-font-color2, #767676); font-size: 90%; line-height: 1.4;
    white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere; }
/* What stands for a widget in a saved notebook is not shown above the widget. */
.jp-OutputArea-child:has([role=note]):has(+ .jp-OutputArea-child :is(.asvc-live, .asvc-form)):not(
    :has(+ .jp-OutputArea-child .jupyter-widgets-disconnected)) { display: none; }
.asvc progress { width: 160px; max-width: 100%; accent-color: var(--jp-brand-color1, #1976d2); }
.asvc-row { flex-wrap: wrap; align-items: center; gap: 0 8px; }
.asvc button:focus-visible, .asvc input:focus-visible, .asvc textarea:focus-visible, .asvc select:focus-visible {
    outline: 2px solid var(--jp-brand-color1, #1976d2); outline-offset: 1px; }
.asvc .asvc-area { flex-direction: column; align-items: stretch; height: auto; }
.asvc .asvc-code textarea { font-family: var(--jp-code-font-family, monospace); font-size: 90%; }
.asvc .asvc-area > label { width: auto; text-align: left; }
.asvc .asvc-log { flex-direction: column-reverse; max-height: 36em; overflow-y: auto; }
.asvc .asvc-log > * { flex-shrink: 0; }
.asvc .asvc-log .widget-box { overflow: visible; }
.asvc .asvc-log td { overflow-wrap: anywhere; }
.asvc .widget-htmlmath:has(> .widget-htmlmath-content:empty), .asvc .widget-box:empty { display: none; }
.asvc .asvc-heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.asvc .jupyter-button { border: 1px solid var(--jp-border-color1, #8888); border-radius: 4px; box-shadow: none;
    margin: 2px; padding: 0 10px; line-height: calc(var(--jp-widgets-inline-height, 28px) - 2px); }
.asvc .jupyter-button.mod-primary { border-color: transparent; }
.asvc .jupyter-button.mod-danger { background: none; color: var(--jp-error-color1, #dd3333);
    border-color: currentColor; }
.asvc :is(input, textarea, select) { font-family: inherit; border-radius: 4px; }
.asvc .widget-html > .widget-html-content, .asvc .widget-htmlmath > .widget-htmlmath-content { flex: 1; min-width: 0; }
.asvc .asvc-row .widget-html > .widget-html-content { flex: none; max-width: 100%; }
.asvc .asvc-end { margin-top: 6px; }
.asvc .asvc-end p:last-child { margin-bottom: 0; }
@media (forced-colors: active) { .asvc button { border: 1px solid ButtonText; } }
@media (prefers-reduced-motion: reduce) {
    .asvc * { animation: none !important; transition: none !important; }
    .asvc progress:not([value]) { appearance: none; height: 6px; border: 1px solid; border-radius: 3px;
        background: repeating-linear-gradient(90deg, currentColor 0 6px, transparent 6px 12px); } }
</style>"""


def frame(children: Sequence[ipywidgets.Widget], *, card: bool = True) -> ipywidgets.VBox:
    """The outermost box of a widget: the style sheet, and the parts below each other."""
    box = ipywidgets.VBox([ipywidgets.HTML(STYLE, layout={"display": "none"}), *children])
    keep_addressed(box)
    box.add_class("asvc")
    if card:
        box.add_class("asvc-card")
    return box


def discard(part: ipywidgets.Widget) -> None:
    """Close a widget and everything in it; `close` alone leaks children, layout and style, here and in the page."""
    for child in getattr(part, "children", ()):
        discard(child)
    for own in ("layout", "style"):
        if isinstance(found := getattr(part, own, None), ipywidgets.Widget):
            found.close()
    part.close()


def row(children: Sequence[ipywidgets.Widget]) -> ipywidgets.HBox:
    """A row of parts, which wraps where the page is narrow."""
    box = ipywidgets.HBox(list(children))
    box.add_class("asvc-row")
    return box


def text(said: str, look: Literal["", "muted", "wrong"] = "", *, role: str = "") -> ipywidgets.HTML:
    """A line of text; its only markup is code in backticks. With `role="status"`, screen readers announce changes."""
    part = ipywidgets.HTML()
    put(part, said, look, role=role)
    return part


def put(part: ipywidgets.HTML, said: str, look: Literal["", "muted", "wrong"] = "", *, role: str = "") -> None:
    """Change the text of a part made by `text`."""
    kind = f' class="asvc-{look}"' if look else ""
    heard = f' role="{role}"' if role else ""
    part.value = f"<div{kind}{heard}>{worded(said, SAID_CHARS)}</div>"


def reason() -> ipywidgets.Text:
    """The field for why a call is refused. Its label begins where the card's text does."""
    return ipywidgets.Text(
        description="Reason to refuse",
        placeholder="the agent is told",
        style={"description_width": "initial"},
        layout={"width": "auto", "max_width": "26em"},
    )


def lines(said: str) -> ipywidgets.HTML:
    """Preformatted lines, wrapped if long; the caller limits the length of the text."""
    part = ipywidgets.HTML()
    put_lines(part, said)
    return part


def put_lines(part: ipywidgets.HTML, said: str) -> None:
    """Change the text of a part made by `lines`."""
    part.value = f'<pre class="asvc-lines">{html.escape(plain(said))}</pre>' if said else ""


class Markup(ipywidgets.HTMLMath):  # type: ignore[misc]
    """Sanitized HTML: formulas are typeset, other dollars are not (`documents.markdown`)."""

    value = traitlets.Unicode("").tag(sync=True, to_json=lambda value, _: untypeset(value))


def place(shown: str = "") -> Markup:
    """A widget that shows HTML of ours in the style of a cell's output."""
    part = Markup(shown)
    part.add_class("jp-RenderedHTMLCommon")
    return part


def area(name: str, value: str = "", *, rows: int = 3) -> ipywidgets.Textarea:
    """A text area under its name. Its text is sent when it loses focus, before the click that took the focus."""
    part = ipywidgets.Textarea(value, description=name, rows=rows, continuous_update=False, layout={"width": "auto"})
    part.add_class("asvc-area")
    return part


def button(name: str, tooltip: str, *, look: Literal["", "primary", "danger"] = "") -> ipywidgets.Button:
    """A button that is as wide as its name."""
    named, layout = {"description": label(name, 80), "tooltip": label(tooltip)}, {"width": "auto", "max_width": "100%"}
    return ipywidgets.Button(**named, button_style=look, layout=layout)


def once(button: ipywidgets.Button, then: str, act: Callable[[], object]) -> None:
    """Call `act` on the first click only, and rename the button to `then`. It stays enabled, so as to keep the focus.

    `act` must be quick and safe to call in any thread.
    """

    def pressed(_: ipywidgets.Button) -> None:
        if button.description != then:
            button.description = then
            act()

    button.on_click(pressed)
