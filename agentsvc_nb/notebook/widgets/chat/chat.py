"""`agentsvc_nb.Chat()`: a chat as a widget, the value of a cell (docs/notebook.md)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from IPython.core.getipython import get_ipython

from agentsvc_nb.client.cards import Showing
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.ask.question import Question
from agentsvc_nb.notebook.display.render import Bundle, error_bundle
from agentsvc_nb.notebook.display.screens import SavedOutput
from agentsvc_nb.notebook.host import here, kernel_offer_here
from agentsvc_nb.notebook.widgets import outputs
from agentsvc_nb.notebook.widgets.chat.state import Conversation, summary, transcript
from agentsvc_nb.wire.models import Effort

_NO_WIDGETS: Final = ("A chat needs buttons, and nothing can be pressed here.", "`%%ask` asks in the same chat.")
_NO_NOTEBOOK: Final = ("A chat needs a Jupyter notebook, and this is none.", "`client.ask(...)` asks the agent.")


class Chat(Showing):
    """Talk with the agent: several turns, streamed, with files, Stop, and approval of what has an effect.

    Its turns go into the notebook's own chat, those of `%%ask`, unless another is named. The turns that this machine
    knows of the chat are there already. Close leaves the conversation as one static output.

    Args:
        chat: the id of another chat.
        project: the id of a project, for a chat that begins.
        new: begin a new chat; the notebook stays in its own.
        model: one of the service's models (`%agentsvc model`).
        effort: how much thought it is to give: `"low"`, `"medium"`, `"high"`.

    Raises:
        AskError: an id that is none, or `chat` and `new` together.

    Example:
        agentsvc_nb.Chat()
    """

    def __init__(
        self,
        chat: str | None = None,
        *,
        project: str | None = None,
        new: bool = False,
        model: str | None = None,
        effort: Effort | None = None,
    ) -> None:
        # A template: each message replaces "-". Made here, so that an invalid id raises at once.
        offer = kernel_offer_here()
        self._first = Question("-", chat=chat, project=project, new_chat=new, model=model, effort=effort, kernel=offer)
        self._shell = get_ipython()
        self._session, _ = here()
        address = self._session.address(chat, new, project=project)
        known = None if new else self._session.known_chat(address)
        self._conversation = Conversation(known)
        self._shown: list[tuple[SavedOutput, str]] = []
        self._box: Any = None

    def _ipython_display_(self) -> None:
        """Two outputs: a line that stays in a saved notebook, and the widget, or later the conversation."""
        _, widgets = here()
        output = outputs.output(self._shell, host.mode(self._shell))
        if self._conversation.closed or not widgets:
            output.show(transcript(self._conversation) if self._conversation.closed else error_bundle(*_NO_WIDGETS))
            return
        place = secrets.token_hex(4)
        self._shown.append((output, place))
        widget = self._widget()  # before `summary`: it reads the turns that the summary counts
        output.keep(summary(self._conversation), display_id=place)
        output.show(widget, display_id=f"{place}-chat")

    def _mimebundle(self) -> Bundle:
        if self._shell is None:
            return error_bundle(*_NO_NOTEBOOK)
        return transcript(self._conversation) if self._conversation.closed else summary(self._conversation)

    def __repr__(self) -> str:
        return self._mimebundle()["text/plain"]

    def close(self) -> None:
        """Leave the conversation as one static output; a run goes on, and its answer still comes there."""
        if self._conversation.closed:
            return
        self._conversation.closed = True
        if self._box is not None:
            self._controller.close()
            self._end(transcript(self._conversation))
        self._tell()

    def _widget(self) -> Bundle:
        if self._box is None:
            self._open()
        shown: Mapping[str, Any] = self._box._repr_mimebundle_()
        return {**shown, "text/plain": summary(self._conversation)["text/plain"]}

    def _open(self) -> None:
        from agentsvc_nb.notebook.ask.history import decide
        from agentsvc_nb.notebook.widgets.chat.controller import ChatController
        from agentsvc_nb.notebook.widgets.chat.view import ChatView

        self._session.client()  # a missing service or key must fail the cell
        view = ChatView(partial(decide, self._session))
        self._box = view.box
        self._controller = ChatController(self._session, self._conversation, self._first, view, self._tell)
        view.close.on_click(lambda _: self.close())
        self._controller.begin()

    def _tell(self) -> None:
        """Update the saved outputs after a turn has ended or the chat was closed. May be called from any thread."""
        for output, place in self._shown:
            output.update(summary(self._conversation), place)
            if self._conversation.closed:
                output.update(transcript(self._conversation), f"{place}-chat")

    def _end(self, bundle: Bundle) -> None:
        """Show the final output inside the widget, too: a reloaded page gets updates of widgets, but not of outputs."""
        from agentsvc_nb.notebook.widgets.design import Markup, discard

        gone = self._box.children
        self._box.children = (Markup(bundle["text/html"]),)
        for part in gone:
            discard(part)
