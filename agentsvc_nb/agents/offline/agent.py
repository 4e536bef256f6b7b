"""The offline agent: no language model. It plans with rules, reads the chat's files, computes and quotes
(docs/api/models.md).

    message -> the tools it names and the questions it asks -> for each question: a list of files, a calculation, or
    passages

Each part is a model step with a checkpoint before it, so that a crash repeats one part at most.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final

from agentsvc_nb.agents.offline import kernel_tables, requests, tool_calls
from agentsvc_nb.agents.offline.embeddings import Embeddings
from agentsvc_nb.agents.offline.kernel_tables import KernelTables, WithKernelTables
from agentsvc_nb.agents.offline.languages.charts import without_chart
from agentsvc_nb.agents.offline.library import (
    Library,
    count_of,
    files_here,
    is_about_pictures,
    listing,
    outline,
    to_outline,
)
from agentsvc_nb.agents.offline.passages import search
from agentsvc_nb.agents.offline.passages.corpus import Corpus
from agentsvc_nb.agents.offline.questions import MESSAGE_CHARS, about_files, asks, chats, readable, split
from agentsvc_nb.agents.offline.tables.answers import ask, leave_result
from agentsvc_nb.agents.offline.tables.following.context import chart_of_before, questions_before
from agentsvc_nb.agents.offline.tool_calls import answer as tool_answer
from agentsvc_nb.agents.offline.tool_calls import not_run, with_brief
from agentsvc_nb.agents.offline.words import content_words
from agentsvc_nb.agents.offline.writing import RESULTS, AnswerPart, Voice, code, result, whole, without_result
from agentsvc_nb.agents.port import RunContext, without_client_tools, without_skills
from agentsvc_nb.wire.runs import AnswerBasis, typed

SIGNATURE: Final = (
    "*Offline agent: I quote and compute. With a language model (`agentsvc model`, in a notebook `%agentsvc model`) I "
    "would also weigh this and put it into words.*\n"
)
NO_FILES: Final = (
    'This chat has no files yet: add some with `%files put brief.md` in a notebook, `files=["brief.md"]` in Python, or '
    "`agentsvc ask --file brief.md` in a terminal.\n\n"
)
CAN_DO: Final = (
    "I can quote what the files of this chat say, compute totals, averages and extremes of their CSV tables, and run "
    "tools: ask about a word in a file, or for the highest value of a column.\n\n"
)
_SHORTENED: Final = (
    f"Only the first and last {MESSAGE_CHARS // 2:,} characters of the message were read: put a long text into a file."
)

Work = Callable[[], Awaitable[None]]


class Offline:
    """Answers from rules and the chat's files alone; any message gets an answer. With `embeddings`, meanings of whole
    sentences are compared."""

    def __init__(self, embeddings: Embeddings | None = None) -> None:
        self._embeddings = embeddings

    async def run(self, turn: RunContext) -> str | None:
        used: Collection[str] = kernel_tables.USED if kernel_tables.offered(turn) else ()
        await without_client_tools(turn, but=used)
        await without_skills(turn)
        await _Answer(turn, self._embeddings).give()
        return None


class _Answer:
    """The state of one answer: parts done, files cited, passages that may still be quoted, what the parts rest on."""

    def __init__(self, turn: RunContext, embeddings: Embeddings | None) -> None:
        self.turn = turn
        self.embeddings = embeddings
        self.message = readable(typed(turn.message))
        self.voice = Voice(turn)
        self.corpus = Corpus(turn.workspace)
        state: dict[str, Any] = turn.state or {}
        self.done = int(state.get("done", 0))
        self.questions: Sequence[str] = ()
        self.told = False
        self.unanswered = set[int]()
        self.cited: list[str] = list(state.get("cited", []))
        self.left = int(state.get("left", search.PASSAGES_MAX))
        self.bases = [AnswerBasis.model_validate(basis) for basis in state.get("bases", [])]

    async def give(self) -> None:
        calls = tool_calls.wanted(self.message, self.turn.tools())
        rest = tool_calls.remainder(self.message, calls)
        questions = requests.with_one_for_models(split(rest)) if rest.strip() or not calls else []
        self.questions = questions
        parts = [*map(self._calling, calls), *map(self._question, range(len(questions)))]
        if self.turn.state is None:  # a run that is resumed has told its plan, and counted its input
            await self._begin(calls, questions)
        for number in range(self.done, len(parts)):
            bases = [basis.model_dump(mode="json") for basis in self.bases]
            await self.turn.checkpoint({"done": number, "cited": self.cited, "left": self.left, "bases": bases})
            await self.turn.step()
            await parts[number]()
        if not any(before.basis for before in await self.turn.earlier(1)):  # said once in a row of its answers
            await self.voice.say(SIGNATURE)
        if basis := whole(self.bases):
            self.turn.rests_on(basis)

    async def _say(self, part: AnswerPart) -> None:
        await self.voice.say(part.text)
        self.bases.append(part.basis)

    async def _begin(self, calls: Sequence[tool_calls.Call], questions: Sequence[str]) -> None:
        await self.voice.count_input(self.message)
        if len(self.turn.message) > MESSAGE_CHARS:
            await self.turn.warn("message_shortened", _SHORTENED)
        lines = [*(f"run {call.tool}" for call in calls), *(f"look up: {_short(question)}" for question in questions)]
        await self.turn.think("Plan: " + "; ".join(f"({number}) {line}" for number, line in enumerate(lines, 1)) + "\n")

    def _calling(self, call: tool_calls.Call) -> Work:
        return lambda: self._call(call)

    def _question(self, number: int) -> Work:
        return lambda: self._ask(self.questions[number], number)

    async def _call(self, call: tool_calls.Call) -> None:
        if call.given is None:
            return await self._say(not_run(call))
        given = call.given
        if call.tool == "create_images":
            given = await with_brief(given, self.turn.workspace)
        outcome = await self.turn.call(call.tool, given)
        await self._say(tool_answer(call.tool, outcome))

    async def _ask(self, asked: str, number: int) -> None:
        question, chart = without_chart(asked)
        chart = chart or chart_of_before(asked)
        library = Library(self.turn.workspace, await self.turn.workspace.list())
        if chats(question) and not library.named(question):
            return await self._say(without_result("asked_back", CAN_DO + ("" if library.entries else self._no_files())))
        if requests.needs_model(question) or is_about_pictures(question, library):
            return await self._say(requests.cannot())
        kernel = await self._kernel(question)
        for told in kernel.told:
            await self.voice.say(told)
        if not library.entries and not kernel.variables:
            words = content_words(question)
            return await self._say(
                without_result("nothing", (search.nothing(words) if words else "") + self._no_files())
            )
        if about_files(question) and library.entries:
            paths = [entry.path for entry in library.entries]
            return await self._say(result("looked_up", files_here(library), paths, listing(library)))
        outlined = to_outline(question, library)
        # Asked for by a word; files named without one are outlined only when no table answers.
        if outlined and requests.outline_words(question) is not None:
            return await self._say(await outline(outlined, self.turn.workspace, self.corpus))
        paths = [entry.path for entry in library.entries]
        tables = WithKernelTables(self.turn.workspace.tables, kernel.variables)
        before = self.questions[:number]
        attached = {entry.path for entry in await self.turn.attachments()}
        computed, enough = await ask(question, paths, tables, lambda: questions_before(self.turn, before), attached)
        for part in computed:
            if part.basis.basis not in RESULTS:
                await self._name_unanswered(number)
            await self._say(part)
            if part.found is not None:
                title = "; ".join((*part.after, *(() if chart_of_before(asked) else (question,))))
                await self.voice.say(await leave_result(self.turn, part.found, title, chart))
        if enough or (computed and not library.entries):
            return
        if outlined:
            return await self._say(await outline(outlined, self.turn.workspace, self.corpus))
        unread = any(part.unread for part in computed)
        await self._quote(question, library, number, unread)

    async def _name_unanswered(self, number: int) -> None:
        """Of several questions, say once which one has no answer: beside the answer to another it would be missed."""
        if len(self.questions) > 1 and number not in self.unanswered:
            self.unanswered.add(number)
            await self.voice.say(f"Not answered: {code(_short(self.questions[number]))}\n\n")

    def _no_files(self) -> str:
        """How to add files, said once in an answer."""
        said, self.told = self.told, True
        return "" if said else NO_FILES

    async def _kernel(self, question: str) -> KernelTables:
        if not kernel_tables.offered(self.turn):
            return KernelTables()
        return await kernel_tables.copied(self.turn, question)

    async def _quote(self, question: str, library: Library, number: int, unread: bool) -> None:
        meant = ", comparing what sentences mean" if self.embeddings else ""
        await self.turn.progress(0, 2, f"searching {count_of(library)}{meant}")
        open_questions = len(self.questions) - number
        # The passages that are left are shared by the questions that are, rounded up.
        limit = max(1, -(-self.left // open_questions)) if self.left else 0
        found = await search.passages_for(question, library, self.corpus, limit, self.cited, self.embeddings)
        if found.fault:
            await self.turn.warn("meanings_not_compared", found.fault)
        await self.turn.progress(2, 2, "passages found" if found.passages else "nothing found")
        if found.guessed and requests.outline_words(question) is not None:
            return await self._say(await outline(library.entries, self.turn.workspace, self.corpus))
        if unread and not found.passages:
            return
        self.left -= len(found.passages)
        self.cited += sorted({passage.path for passage in found.passages} - set(self.cited))
        await self.voice.count_input(" ".join(passage.text for passage in found.passages))
        if not found.passages:
            await self._name_unanswered(number)
        await self._say(search.answer(found))
        if not found.passages:
            hint = "" if asks(question) else CAN_DO
            await self.voice.say(f"{hint}{files_here(library)}\n\n{listing(library)}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:79] + "…"
