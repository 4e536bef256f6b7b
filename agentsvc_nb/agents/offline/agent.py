"""The offline agent: it quotes passages, computes from tables, runs SQL and outlines files without a language model
(docs/api/models.md).

It splits the message into questions. It answers each question with the result of SQL, an outline of files, the result
of a calculation, or quoted passages. If it has no answer, it says why and offers questions that it can answer.

Each question is a model step of the run, and a checkpoint precedes it. After a crash, at most one question is answered
again.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from agentsvc_nb.agents.offline.computing import TableQuestions, TableReading, offer, typed_sql
from agentsvc_nb.agents.offline.lexicon import words_of
from agentsvc_nb.agents.offline.outline import answer_columns, asks_outline, outline, outline_tables, outline_text
from agentsvc_nb.agents.offline.parser import Refusal
from agentsvc_nb.agents.offline.passages import question_words, quote_passages
from agentsvc_nb.agents.offline.writing import (
    HOW_TO_SWITCH,
    AnswerPart,
    Voice,
    code,
    join_bases,
    language_note,
    without_result,
)
from agentsvc_nb.agents.port import RunContext, without_client_tools, without_skills
from agentsvc_nb.documents.media_types import safe_name
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.documents.search_query import is_scratch
from agentsvc_nb.documents.tables.results import Result, ResultTooLong, export_result
from agentsvc_nb.tools.workspace_port import COMPUTED, RULES
from agentsvc_nb.wire.runs import AnswerBasis, typed

HELP: Final = (
    "I quote your files, compute from one table, run SQL that you type, and outline a file. I am the offline agent, "
    "not a language model.\n\n"
)
NO_FILES: Final = (
    'This chat has no files yet. Add some: `%files put brief.md` in a notebook, `files=["brief.md"]` in Python, or '
    "`agentsvc ask --file brief.md` in a terminal.\n\n"
)
MESSAGE_CHARS: Final = 10_000
QUESTIONS_MAX: Final = 10
TITLE_BYTES: Final = 100
FOLDER: Final = "results/"
_ENDS: Final = re.compile(
    r"(?<=[?!])\s+|(?<=[^\W\d]{2}[.;])\s+(?=[A-Z])|\n+|,?\s+and\s+(?=(?:what|how many|how much|which|who|when)\b)",
    re.IGNORECASE,
)
_CHAT: Final = re.compile(
    r"(?:hi|hello|hey|thanks|thank you|help|what can you do|who are you)\b[^?]{0,20}\??", re.IGNORECASE
)
_MODEL_VERBS: Final = (
    "write|draft|compose|translate|rewrite|rephrase|improve|explain|why|analyse|analyze|recommend|suggest|brainstorm|"
    "generate|create|design|critique|evaluate|judge|review|interpret|predict|forecast|plan|invent|imagine|paint|draw|"
    "plot|chart|describe|compare|should"
)
_REFERS: Final = re.compile(r"\b(?:it|its|they|them|their|those|these|he|she|his|her)\b", re.IGNORECASE)
_REFERRING: Final = "This question may refer to the previous one. Ask it again as a complete question.\n\n"
_FOR_MODEL: Final = re.compile(rf"(?:please |can you |could you |would you |and )*(?:{_MODEL_VERBS})\b", re.IGNORECASE)
_PREPOSITION: Final = (
    r"(?:\b(?:in|of|from|on|for|about|according to|inside)\s+)?(?:the\s+)?(?:file|table|sheet|document)?\s*"
)


class Offline:
    """The agent (`port.Agent`) that answers from the chat's files."""

    async def run(self, turn: RunContext) -> str | None:
        await without_client_tools(turn)
        await without_skills(turn)
        await _AnswerWriter(turn).write()
        return None


class _AnswerWriter:
    """Answers one message.

    - `_done` counts the questions of the message that are answered.
    - `_bases` describes, for each of these answers, what it is based on.
    - `_narrowed` is True if the latest answer used only some rows of a table, or if the latest question had no answer.
    """

    def __init__(self, turn: RunContext) -> None:
        self._turn = turn
        self._voice = Voice(turn)
        state: dict[str, Any] = turn.state or {}
        self._done = int(state.get("done", 0))
        self._narrowed = bool(state.get("narrowed", False))
        self._bases = [AnswerBasis.model_validate(basis) for basis in state.get("bases", [])]

    async def write(self) -> None:
        message = typed(self._turn.message)
        questions = split_questions(message[:MESSAGE_CHARS])
        if self._turn.state is None:  # a resumed run has already counted its input
            await self._voice.count_input(message)
            if len(message) > MESSAGE_CHARS:
                shortened = f"Only the first {MESSAGE_CHARS:,} characters of the message were read."
                await self._turn.warn("message_shortened", f"{shortened} Put a long text into a file.")
        for number in range(self._done, len(questions)):
            bases = [basis.model_dump(mode="json") for basis in self._bases]
            await self._turn.checkpoint({"done": number, "bases": bases, "narrowed": self._narrowed})
            await self._turn.step()
            await self._answer(questions, number)
        if basis := join_bases(self._bases):
            self._turn.rests_on(basis)

    async def _answer(self, questions: Sequence[str], number: int) -> None:
        question = questions[number]
        if number and _REFERS.search(question):
            part = without_result("asked_back", _REFERRING)
        else:
            part = await self._find_answer(question)
            # In `Orders from Germany, and what is the total?`, the total may be Germany's or that of all rows. It is
            # clear only if the second question is a new sentence.
            same_sentence = number > 0 and questions[number - 1][-1] not in ".?!;"
            if same_sentence and self._narrowed and part.basis.basis in ("computed", "looked_up") and not part.limited:
                part = without_result("asked_back", _REFERRING)
        answered = part.basis.basis not in ("nothing", "cannot", "asked_back")
        self._narrowed = part.limited or not answered
        if len(questions) > 1 and not answered:
            await self._voice.say(f"Not answered: {code(question[:80])}\n\n")
        await self._voice.say(part.text)
        self._bases.append(part.basis)
        if part.table is not None:
            await self._save_table(part.table, question)

    async def _find_answer(self, question: str) -> AnswerPart:
        workspace = self._turn.workspace
        entries = [
            entry
            for entry in await workspace.list()
            if not is_scratch(entry.path)
            and entry.output_type not in COMPUTED
            and PurePosixPath(entry.path).name not in RULES
        ]
        paths = [entry.path for entry in entries]
        attached = {entry.path for entry in await self._turn.attachments()}
        sql = typed_sql(question)
        if not paths:
            return without_result("asked_back" if _CHAT.fullmatch(question) else "nothing", HELP + NO_FILES)
        tables = TableQuestions(workspace.tables, await workspace.tables.profiles(), attached)
        if sql:
            return await tables.run_sql(sql)
        named, rest = name_files(question, paths)
        if _CHAT.fullmatch(question):
            return without_result("asked_back", HELP + await self._offers(tables, question))
        if asks_outline(rest or question) or (named and not rest):
            return await self._outline(named or attached or paths, tables)
        if unread := await self._unreadable(named or (paths if len(paths) == 1 else []), tables):
            return without_result("nothing", unread)
        profiles = [one for file in tables.files for one in file.tables if not named or file.path in named]
        if part := answer_columns(rest, profiles):
            return part
        found = await tables.answer(rest, named)
        if isinstance(found, AnswerPart):
            return found
        if _FOR_MODEL.match(question):
            return without_result("cannot", f"This needs a language model. {HELP}{HOW_TO_SWITCH}")
        quoted = await self._quote(rest, paths, named, tables)
        if quoted and (quoted.basis.basis == "quoted" or not _is_about(found)):
            return quoted
        if found and _is_about(found):
            return await tables.refuse(found, rest)
        unfound = question_words(rest)
        words = ", ".join(map(code, unfound)) or "(no search words)"
        offers = await self._offers(tables, rest)
        return without_result(
            "nothing", f"Nothing found for: {words}\n\n{language_note(unfound)}{offers}{HOW_TO_SWITCH}"
        )

    async def _quote(
        self, question: str, paths: Sequence[str], named: Sequence[str], tables: TableQuestions
    ) -> AnswerPart | None:
        # Do not quote files that are a single table, because questions ask for their rows.
        only_tables = {file.path for file in tables.files if file.tables and _is_data(file.path)}
        part = await quote_passages(
            question, self._turn.workspace, [one for one in paths if one not in only_tables], named
        )
        if part:
            await self._voice.count_input(part.text)
        return part

    async def _offers(self, tables: TableQuestions, question: str) -> str:
        """Return a text that offers questions that the agent can answer from the first table."""
        for parser in tables.parsers[:1]:
            reading = TableReading(parser, Refusal(""))
            return offer(reading.path, await tables.suggestions(reading, question))
        return ""

    async def _outline(self, paths: Sequence[str] | set[str], tables: TableQuestions) -> AnswerPart:
        by_path = {file.path: file for file in tables.files}
        parts = []
        for path in sorted(paths)[:5]:
            file = by_path.get(path)
            if not _is_data(path) and (text := await self._turn.workspace.text(path)):
                parts.append(outline_text(path, text))
            if file and (file.tables or file.unreadable):
                parts.append(outline_tables(file))
        return outline(parts) if parts else without_result("nothing", "The files have no text to outline.\n\n")

    async def _unreadable(self, paths: Sequence[str], tables: TableQuestions) -> str:
        """Return why the files in question can't be read, or "" if at least one of them can be read."""
        by_path = {file.path: file for file in tables.files}
        reasons: dict[str, str] = {}
        for path in paths:
            file = by_path.get(path)
            if file and file.tables:
                return ""
            reason = await self._turn.workspace.unreadable(path)
            reasons[path] = reason or (file.unreadable if file and _is_data(path) else "")
        if not all(reasons.values()):
            return ""
        return "".join(f"{code(path)} can't be read: {escape(reason)}\n\n" for path, reason in reasons.items())

    async def _save_table(self, table: Result, question: str) -> None:
        """Save a result as files of the chat that are named after the question, and that form a typed output `table`.

        The files replace an earlier result for the same question, which stays available as an earlier version. They
        never replace any other file.
        """
        title = question[:1].upper() + question[1:]
        try:
            files = export_result(table, title)
        except ResultTooLong as error:
            return await self._voice.say(f"{error} Ask for fewer rows.\n\n")
        there = {entry.path: entry.output_type for entry in await self._turn.workspace.list()}
        stem = FOLDER + _file_name(title, there)
        stem = next(
            path
            for path in itertools.chain([stem], (f"{stem} {number}" for number in itertools.count(2)))
            if all(there.get(path + ending, "table") == "table" for ending in files)
        )
        # Derive the output's id from the content, so that a resumed run uses the same id.
        mark = hashlib.sha256(b"".join([stem.encode(), *files.values()])).hexdigest()[:16]
        for ending, data in files.items():
            await self._turn.write(stem + ending, data, output=(f"table_{mark}", "table"))


def split_questions(message: str) -> list[str]:
    """Split a message into questions, and return at most ten. An SQL query is one question.

    >>> split_questions("What is the total cost? And how many clicks?")
    ['What is the total cost?', 'And how many clicks?']
    """
    if typed_sql(message):
        return [message]
    return [part.strip() for part in _ENDS.split(message) if re.search(r"\w", part)][:QUESTIONS_MAX] or [message]


def name_files(question: str, paths: Sequence[str]) -> tuple[list[str], str]:
    """Return the paths of the files that a question names, and the question without these names.

    >>> name_files("total clicks in the file ads.csv?", ["ads.csv", "brief.md"])
    (['ads.csv'], 'total clicks ?')
    """
    named = []
    for path in sorted(paths, key=len, reverse=True):
        for name in dict.fromkeys([path, PurePosixPath(path).name]):
            pattern = rf"{_PREPOSITION}[`'\"“]?(?<![\w/.-]){re.escape(name)}(?![\w/-])[`'\"”]?"
            question, times = re.subn(pattern, " ", question, flags=re.IGNORECASE)
            if times:
                named.append(path)
                break
    return named, " ".join(question.split()).strip(" :,")


_DATA: Final = words_of(".csv .tsv .tab .xlsx .xls .xlsm .ods .parquet .json .jsonl .ndjson .gz")


def _is_data(path: str) -> bool:
    """Return True if the file's extension means that it contains only tables."""
    return PurePosixPath(path).suffix.lower() in _DATA


def _is_about(reading: TableReading | None) -> bool:
    """Return True if the question was refused although it probably is about the table.

    It is if it names a column or value of the table, or if the parser knows a use for all of its words.
    """
    return (
        reading is not None
        and isinstance(reading.found, Refusal)
        and (reading.found.known > 0 or not reading.found.unused)
    )


def _file_name(title: str, paths: Iterable[str]) -> str:
    """Return a file name for the question. Names of data files in it lose their extensions: `in ads`, not `in
    ads.csv`.
    """
    for name in sorted({PurePosixPath(path).name for path in paths if _is_data(path)}, key=len, reverse=True):
        title = title.replace(name, PurePosixPath(name).stem)
    words = " ".join(re.sub(r'[\\/:*?"<>|]', " ", title).split())
    name = safe_name(words).encode()[:TITLE_BYTES].decode("utf-8", "ignore")
    return name.strip(" .") or "table"
