"""`agentsvc_nb.Chat()` shows a chat as a widget. It is the value of a cell (docs/chat.md)."""

from __future__ import annotations

import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal

from IPython.core.getipython import get_ipython

from agentsvc_nb.client.cards import Displayable
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


class Chat(Displayable):
    """A chat with the agent as a widget: several turns, streamed answers, attachments, a Stop button, and approval of
    calls.

    You ask in the notebook's chat, which `%%ask` also uses, unless you name another chat. The widget shows all turns of
    the chat, including turns that cells, other windows and other machines add while it is open. When you press Close,
    one static output with the conversation replaces the widget.

    The widget works in Jupyter, voila and marimo.

    Args:
        chat: the id of another chat.
        project: the id of a project, for a new chat.
        new: begin a new chat. The notebook continues to use its own chat.
        model: one of the service's models (`%agentsvc model`).
        effort: how much the model thinks: `"low"`, `"medium"`, `"high"`.
        where: `"below"` shows the chat below the cell. `"side"` shows it next to the notebook, in JupyterLab with the
            package sidecar.

    Raises:
        AskError: an id is not valid, `chat` and `new` are both given, or the package sidecar is missing.

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
        # The template of all questions, whose "-" is replaced with the message. Created here so that an invalid id
        # raises an error at once.
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
        """Show the widget, and above it a static line, which the saved notebook keeps.

        If the chat was closed, show the conversation as static output instead. On hosts without widgets, show an error.
        """
        _, widgets = here()
        output = outputs.output(self._shell, host.mode(self._shell))
        if self._conversation.closed or not widgets:
            output.show(transcript(self._conversation) if self._conversation.closed else error_bundle(*_NO_WIDGETS))
            return
        place = secrets.token_hex(4)
        self._shown.append((output, place))
        front = self.front  # before `summary`, because `front` reads the turns that the summary counts
        output.keep(summary(self._conversation), display_id=place)
        if self._where == "side":
            output.show({"text/plain": "", "text/html": ""}, display_id=f"{place}-chat")  # for `close`
            self._show_beside(front)
        else:
            data, metadata = front._repr_mimebundle_()
            output.show({**data, "text/plain": ""}, display_id=f"{place}-chat", metadata=metadata)

    def _show_beside(self, front: Any) -> None:
        """Show the widget in a panel on the right side of JupyterLab."""
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
        """Replace the widget with one static output. An active run continues, and its answer is added to that
        output.
        """
        if self._conversation.closed:
            return
        self._conversation.closed = True
        if self._controller is not None:
            self._controller.close()
        self._update()

    def _display_(self) -> Any:
        """Return the widget. marimo calls this."""
        return self.front

    @property
    def front(self) -> Front:
        """The widget without the line above it. Raises `AskError` if there is no connection to a service."""
        from agentsvc_nb.notebook.widgets.chat.controller import ChatController

        if self._controller is None:
            self._session.client()  # raise an error in the cell if the service or its key is missing
            self._controller = ChatController(self._session, self._conversation, self._first, self._update)
            self._controller.front.on("close", lambda *_: self.close())
            self._controller.begin()
        return self._controller.front

    def _update(self) -> None:
        """Update the saved notebook's outputs after a turn ended or the chat was closed. Any thread may call this."""
        for output, place in self._shown:
            output.update(summary(self._conversation), place)
            if self._conversation.closed:
                output.update(transcript(self._conversation), f"{place}-chat")
        if self._conversation.closed and self._controller is not None:
            self._controller.show_closed()
