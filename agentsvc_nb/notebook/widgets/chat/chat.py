"""`agentsvc_nb.Chat()`: a chat as a widget, the value of a cell (docs/chat.md)."""

from __future__ import annotations

import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal

from IPython.core.getipython import get_ipython

from agentsvc_nb.client.cards import Showing
from agentsvc_nb.extras import pip_install
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.render import Bundle, error_bundle
from agentsvc_nb.notebook.display.screens import SavedOutput
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.host import here, kernel_offer_here
from agentsvc_nb.notebook.widgets import outputs
from agentsvc_nb.notebook.widgets.chat.turns import Conversation, summary, transcript
from agentsvc_nb.wire.runs import Effort

if TYPE_CHECKING:
    from agentsvc_nb.notebook.widgets.chat.controller import ChatController
    from agentsvc_nb.notebook.widgets.front import Front

_NO_WIDGETS: Final = ("The chat widget needs buttons, which do not work here.", "Ask in the same chat with `%%ask`.")
_NO_NOTEBOOK: Final = ("The chat widget needs a notebook.", "In a program, ask the agent with `client.ask(...)`.")
_INSTALL: Final = f"Run `%{pip_install('lab')}` and reload the page, or omit `where` to show the chat below its cell."


class Chat(Showing):
    """Talk with the agent: several turns, streamed, with files, Stop, and approval of calls with effects.

    The turns go to the notebook's chat, which `%%ask` also uses, unless you name another chat. The widget shows all
    turns of the chat, including turns that cells, other windows and other machines add while it is open. Close leaves
    the conversation as one static output.

    Jupyter, voila and marimo show it.

    Args:
        chat: the id of another chat.
        project: the id of a project, for a new chat.
        new: begin a new chat. The notebook continues to use its own chat.
        model: one of the service's models (`%agentsvc model`).
        effort: how much the model thinks: `"low"`, `"medium"`, `"high"`.
        where: `"side"` opens it next to the notebook (JupyterLab with the package sidecar).

    Raises:
        AskError: an id is invalid, `chat` and `new` are both given, or sidecar is missing.

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
        where: Literal["below", "side"] = "below",
    ) -> None:
        # A template, in which each message replaces "-". Created here, so that an invalid id raises an error at once.
        offer = kernel_offer_here()
        self._first = AskRequest(
            "-", chat=chat, project=project, new_chat=new, model=model, effort=effort, kernel=offer
        )
        if where == "side" and find_spec("sidecar") is None:
            raise AskError("A chat next to the notebook needs the package sidecar.", _INSTALL)
        self._where = where
        self._shell = get_ipython()
        self._session, _ = here()
        self._conversation = Conversation(chat)
        self._shown: list[tuple[SavedOutput, str]] = []
        self._controller: ChatController | None = None

    def _ipython_display_(self) -> None:
        """Show two outputs: a line that remains in a saved notebook, and the widget, or later the conversation."""
        _, widgets = here()
        output = outputs.output(self._shell, host.mode(self._shell))
        if self._conversation.closed or not widgets:
            output.show(transcript(self._conversation) if self._conversation.closed else error_bundle(*_NO_WIDGETS))
            return
        place = secrets.token_hex(4)
        self._shown.append((output, place))
        front = self.front  # before `summary`, because this reads the turns that the summary counts
        output.keep(summary(self._conversation), display_id=place)
        if self._where == "side":
            output.show({"text/plain": "", "text/html": ""}, display_id=f"{place}-chat")  # where Close leaves it
            self._show_beside(front)
        else:
            data, metadata = front._repr_mimebundle_()
            output.show({**data, "text/plain": ""}, display_id=f"{place}-chat", metadata=metadata)

    def _show_beside(self, front: Any) -> None:
        """Open the widget in a panel on the right side of JupyterLab."""
        from IPython.display import display
        from sidecar import Sidecar

        with Sidecar(title="Chat"):
            display(front)  # type: ignore[no-untyped-call]

    def _mimebundle(self) -> Bundle:
        if self._shell is None:
            return error_bundle(*_NO_NOTEBOOK)
        return transcript(self._conversation) if self._conversation.closed else summary(self._conversation)

    def __repr__(self) -> str:
        return self._mimebundle()["text/plain"]

    def close(self) -> None:
        """Leave the conversation as one static output. An active run continues, and its answer still appears there."""
        if self._conversation.closed:
            return
        self._conversation.closed = True
        if self._controller is not None:
            self._controller.close()
        self._update()

    def _display_(self) -> Any:
        """Return the widget for marimo, which calls this and shows anywidgets."""
        return self.front

    @property
    def front(self) -> Front:
        """Return the widget without the line above it. Raises `AskError` without a connection."""
        from agentsvc_nb.notebook.widgets.chat.controller import ChatController

        if self._controller is None:
            self._session.client()  # a missing service or key must fail the cell
            self._controller = ChatController(self._session, self._conversation, self._first, self._update)
            self._controller.front.on("close", lambda *_: self.close())
            self._controller.begin()
        return self._controller.front

    def _update(self) -> None:
        """Update the saved outputs after a turn has ended or the chat was closed. May be called from any thread."""
        for output, place in self._shown:
            output.update(summary(self._conversation), place)
            if self._conversation.closed:
                output.update(transcript(self._conversation), f"{place}-chat")
        if self._conversation.closed and self._controller is not None:
            self._controller.show_closed()
