"""The calls of one run for the user's kernel: taken in where the run's events are read, done on the main thread.

The thread that reads the events calls a tool and waits; `serve`, on the main thread, looks, asks and runs. Code runs
once: a call that was begun, here or by a kernel that is gone, is not begun again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from agentsvc_nb.client.client_tools import CallAnswer, ClientTool, current_call
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.kernel import variables
from agentsvc_nb.notebook.kernel.access import KernelAccess
from agentsvc_nb.notebook.kernel.calls import CODE_CHARS, ERROR_CHARS, INVISIBLE, KernelCall, State, failed
from agentsvc_nb.notebook.kernel.cells import CellTools
from agentsvc_nb.notebook.kernel.masking import Rules, masked
from agentsvc_nb.notebook.kernel.pages import Page
from agentsvc_nb.notebook.kernel.variables import LOOKED_AHEAD
from agentsvc_nb.wire.runs import Run
from agentsvc_nb.wire.text import forbidden, plain

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.notebook.kernel.database_port import OfferedDatabase
    from agentsvc_nb.notebook.state.journal import Journal

KernelMode = Literal["off", "look", "ask"]
BUTTONS_SECONDS: Final = 5.0
"""How long a front end may take to have its buttons heard while a cell runs; after that it is asked with a prompt."""
_TICK_SECONDS: Final = 0.25
_LOOK_SECONDS: Final = 5.0
_NOBODY: Final = "Nobody can approve this here: this notebook is run without anyone to ask. Go on without it."
_CLOSED: Final = "The user's cell does not take part any more; nothing was run."
_BEGUN: Final = "This code was begun before, and was cut off: it may have been run in part. It is not run again."
_AWAITS: Final = "Code with `await` outside a function can't be run here: write it without."


@dataclass(frozen=True)
class KernelOffer:
    """What a question lets the agent do in the kernel.

    Attributes:
        between: whether it is served between cells, because its own cell has ended, and not while that cell runs.
        buttons: whether calls are shown with buttons.
        database: the connection that the agent may ask.
        page: the page of the notebook, which may be able to change its cells.
    """

    access: KernelAccess
    mode: KernelMode
    rules: Rules
    between: bool = False
    buttons: bool = False
    database: OfferedDatabase | None = None
    page: Page | None = None

    @property
    def signature(self) -> str:
        """What the agent can do, for telling questions apart."""
        return f"{self.mode} {self.database.name}" if self.database else self.mode


@dataclass
class KernelDesk:
    """The desk of one run. `run_id` and `chat` are set when the run has started; the chat's files take the pictures."""

    offer: KernelOffer
    journal: Journal
    client: AgentService
    run_id: str = ""
    chat: str | None = None
    calls: list[KernelCall] = field(default_factory=list)
    _looks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = field(default_factory=SimpleQueue)
    _closed: threading.Event = field(default_factory=threading.Event)
    _pictures: int = 0

    # -- in the thread that reads the run's events ---------------------------------------------------------------

    def opened(self, run: Run) -> None:
        """Note the run as started, before its events are read."""
        self.run_id, self.chat = run.run_id, run.chat

    def tools(self) -> list[ClientTool]:
        """Return the functions that the run is offered."""

        def list_variables() -> Any:
            """List the variables of the user's notebook kernel, with their types and sizes."""
            return self._look(lambda: variables.listing(self._variables, self.offer.rules))

        def show_variable(name: str) -> Any:
            """Show a variable of the user's notebook kernel: its type and size, and for a table its columns with their
            types and its first rows. Values that look like credentials are masked."""
            return self._look(lambda: variables.description(name, self._variables, self.offer.rules))

        def run_in_kernel(
            code: Annotated[str, Field(min_length=1, max_length=CODE_CHARS)],
            why: Annotated[str, Field(max_length=400)] = "",
        ) -> CallAnswer:
            """Run Python code in the user's notebook kernel, where their variables are. The user is shown the code and
            `why`, one sentence that says what it is for, and approves, changes or refuses it. You get what it prints,
            the value of its last line, and its error. Keep it short and print only what you need."""
            return self._ask(code.replace("\r\n", "\n"), why)

        tools = self._database_tools()
        if self.offer.mode != "off":
            tools += [ClientTool(list_variables, effect=False), ClientTool(show_variable, effect=False)]
        if self.offer.mode == "ask":
            # Not an effect for the service: the user approves each call here, and would be asked twice.
            asking: list[Callable[..., Any]] = [run_in_kernel]
            if self.offer.page is not None and self.offer.page.is_there(while_busy=not self.offer.between):
                asking += CellTools(lambda: self.run_id, self.offer.page, self._decided).functions()
            tools += [ClientTool(function, effect=False) for function in asking]
        return tools

    def _database_tools(self) -> list[ClientTool]:
        if self.offer.database is None:
            return []
        from agentsvc_nb.notebook.kernel.databases import database_tools

        return database_tools(self.offer.database, self.offer.rules, self._look, self._query)

    def _query(self, sql: str, why: str, run: Callable[[str], Any]) -> Any:
        """Show a query to the user, and run what they approve."""
        from agentsvc_nb.notebook.kernel.databases import QueryCall

        asked = current_call.get()
        call = QueryCall(asked.call_id, self.run_id, sql, why, asked.created_at)
        self._decided(call)
        if not call.begin():
            return call.answer()
        found = self._look(lambda: run(call.code))
        call.end("failed" if isinstance(found, CallAnswer) else "done")
        return found | {"query_as_the_user_changed_it": call.code} if call.edited and isinstance(found, dict) else found

    @property
    def _variables(self) -> Any:
        return self.offer.access.shell.user_ns

    def _look(self, look: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self._looks.put((future, look))
        while not future.done() and not self._closed.wait(_TICK_SECONDS / 5):
            pass
        if not future.done():
            return failed(_CLOSED)
        try:
            return future.result()
        except LookupError as error:
            return failed(str(error.args[0]))

    def _ask(self, code: str, why: str) -> CallAnswer:
        if found := forbidden(code):
            return failed(INVISIBLE.format("code", found))
        asked = current_call.get()
        call = KernelCall(asked.call_id, self.run_id, code, why, asked.created_at)
        self._await(call, ("asked", "approved", "running"))
        answer = call.answer()
        return CallAnswer([*answer.content, *self._sent_pictures(call)], answer.failed)

    def _decided(self, call: KernelCall) -> None:
        self._await(call, ("asked",))

    def _await(self, call: KernelCall, states: tuple[State, ...]) -> None:
        """Wait while the call is in one of these states."""
        self.calls.append(call)
        looked = time.monotonic()
        while call.state in states and not call.wait(_TICK_SECONDS):
            if time.monotonic() - looked > _LOOK_SECONDS:
                looked = time.monotonic()
                self._close_if_ended()
            if self._closed.is_set():
                call.give_up(_CLOSED)

    def _close_if_ended(self) -> None:
        """Close when the run was cancelled elsewhere: its events are not read while a call waits."""
        with suppress(StefanBrainError):
            if self.client.runs.get(self.run_id).ended:
                self.close()

    def _sent_pictures(self, call: KernelCall) -> list[dict[str, Any]]:
        """Put the pictures into the chat's files; what can't be put there is not sent."""
        blocks: list[dict[str, Any]] = []
        for raw in call.outcome.pictures if call.outcome and self.chat else ():
            self._pictures += 1
            kind = "png" if raw.startswith(b"\x89PNG") else "jpeg"
            name = f"kernel-{call.call_id[-6:]}-{self._pictures}.{kind}"
            try:
                [staged] = self.client.files.upload((name, raw), chat=self.chat)
            except StefanBrainError as error:
                return [*blocks, {"type": "text", "text": f"A picture could not be sent: {error.message}"}]
            self.journal.attached(self.run_id, staged.sha256)
            blocks.append({"type": "image", "path": f"uploads/{name}", "media_type": f"image/{kind}"})
        return blocks

    # -- in the thread that follows the run ----------------------------------------------------------------------

    def tick(self, draw: Callable[[], object]) -> None:
        """Do what is to be done: at once if the cell has the main thread, else as soon as no cell runs there.

        Raises `KeyboardInterrupt` of a prompt.
        """
        if not self.has_work:
            return
        if self.offer.between:
            self.offer.access.when_idle(lambda: self._serve(lambda: None))
        else:
            self._serve(draw)

    def help_out(self) -> None:
        """Do what is to be done in a cell that waits for the run: it keeps the kernel busy. Only on the main thread.

        Raises `KeyboardInterrupt` of a prompt.
        """
        if threading.current_thread() is threading.main_thread() and (self.calls or not self._looks.empty()):
            self._serve(lambda: None, asks=True)

    @property
    def has_work(self) -> bool:
        if not self._looks.empty():
            return True
        return any(
            (call.state == "approved" and call.on_main_thread) or (call.state == "asked" and not self.offer.between)
            for call in self.calls
        )

    def close(self) -> None:
        """Answer what waits, and what comes: nothing is looked at or run any more. Code that runs goes on."""
        self._closed.set()

    # -- on the main thread --------------------------------------------------------------------------------------

    def _serve(self, draw: Callable[[], object], asks: bool = False) -> None:
        try:
            while True:
                future, look = self._looks.get_nowait()
                _settle(future, look)
        except Empty:
            pass
        for call in list(self.calls):
            if self._closed.is_set():
                return
            if call.state == "asked" and (asks or not self.offer.between):
                self._decide(call, draw, told=not asks)
            if call.on_main_thread and call.begin():
                self._run(call, draw)

    def _decide(self, call: KernelCall, draw: Callable[[], object], told: bool) -> None:
        access, waited = self.offer.access, time.monotonic() - call.asked_at
        if self.offer.buttons and (access.hears_buttons or waited < BUTTONS_SECONDS):
            return
        if access.can_prompt:
            from agentsvc_nb.notebook.kernel.prompting import decide_by_prompt

            call.by_prompt = True
            draw()
            if not told:  # the code stands in another cell
                print(call.bundle()["text/plain"])
            decide_by_prompt(call)
        else:
            call.give_up(_NOBODY)

    def _run(self, call: KernelCall, draw: Callable[[], object]) -> None:
        from agentsvc_nb.notebook.kernel.running import Outcome, awaits, run

        shell = self.offer.access.shell
        if self.offer.access.in_kernel and awaits(shell, call.code):
            return call.end("stopped", _AWAITS)
        if not self.journal.begin_call(call.call_id):
            return call.end("stopped", _BEGUN)
        call.outcome = Outcome()
        run(shell, call.code, call.outcome, draw)
        call.end("failed" if call.outcome.error else "done")


def _settle(future: Future[Any], look: Callable[[], Any]) -> None:
    try:
        future.set_result(look())
    except Exception as error:  # a class of the user's may raise anything
        said = str(error.args[0]) if isinstance(error, LookupError) and error.args else type(error).__name__
        said = masked(plain(said[: ERROR_CHARS + LOOKED_AHEAD]))[:ERROR_CHARS]
        future.set_exception(LookupError(said))
