"""In a provider's place: a model that answers all twelve scenarios rightly, by what it is asked."""

from __future__ import annotations

import json
import re
from typing import Final

from PIL import Image

from tests.unit.agents.tasks.asked import Asked, read
from tests.unit.agents.wires.reply import Body, Form, Headers, Reply, pieces
from tests.unit.agents.wires.server import ProviderServer

CAPITALS: Final = {"France": "Paris"}
ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
LONG_PAUSE: Final = 0.06
WRONG_KEYS: Final = ("wrong", "Bearer wrong")


class KnowingServer(ProviderServer):
    """A provider that knows its keys and models, and whose model is `answer`."""

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        self.faults: list[str] = []

    def refuses(self, headers: Headers, body: Body) -> Reply | None:
        if any(value in WRONG_KEYS for value in headers.values()):
            return Reply(fault="no_key")
        return Reply(fault="no_model") if body["model"].endswith("-that-is-not-there") else None

    def next(self, body: Body) -> Reply:
        self.asked.append(body)
        try:
            return answer(read(body))
        except Exception as error:  # told by the test: here it would end a thread
            self.faults.append(f"{type(error).__name__}: {error}")
            return Reply(("The model is lost.",))


def answer(asked: Asked) -> Reply:
    """What a good model says to a request, by nothing but what is in it."""
    question = asked.question
    if "story" in question:
        return Reply(tuple(pieces("Once upon a time there was a campaign. ")), hangs=True)
    if named := [path for path in asked.paths() if path.rpartition("/")[2] in question]:
        return _of_files(asked, named)
    if asked.pictures:
        return Reply((_colour(asked.pictures[0]),))
    text, thought = _said(asked)
    # A long text takes a while, so that it streams.
    return Reply(tuple(pieces(text)), thinking=thought, pause=LONG_PAUSE if len(text) > 200 else 0)


def _of_files(asked: Asked, paths: list[str]) -> Reply:
    """Reads the files that the question names, at once, and says the codes that are in them."""
    if not asked.made:
        calls = tuple(("read_file", json.dumps({"path": path})) for path in paths)
        return Reply(thinking=("I read them.",), calls=calls)
    codes = re.findall(r"code .*? (\d+)", " ".join(result.text for _, result in asked.made))
    return Reply((f"{' and '.join(codes)}.",))


def _said(asked: Asked) -> tuple[str, tuple[str, ...]]:
    """The text of an answer, and what is thought before."""
    question = asked.question
    if found := re.search(r"capital of (\w+)", question):
        return CAPITALS[found[1]], ()
    if found := re.search(r"(\d+) times (\d+)", question):
        return str(int(found[1]) * int(found[2])), (f"{found[1]} times ", found[2])
    if found := re.search(r"score (\d+)", question):
        return json.dumps({"score": int(found[1])}), ()
    if found := re.search(r"number of letters in '(\w+)'", question):
        return json.dumps({"score": len(found[1])}), ()
    if found := re.search(r"numbers from (\d+) to (\d+)", question):
        return "\n".join(f"{each} {in_words(each)}" for each in range(int(found[1]), int(found[2]) + 1)), ()
    if "called" in question:
        return re.findall(r"is (\w+)\.", " ".join(text for who, text in asked.before if who == "user"))[-1], ()
    return "Noted.", ()


def in_words(number: int) -> str:
    """A number below a hundred.

    >>> in_words(21), in_words(40)
    ('twenty-one', 'forty')
    """
    if number < len(ONES):
        return ONES[number]
    tens, ones = divmod(number, 10)
    return TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")


def _colour(picture: Image.Image) -> str:
    values = picture.convert("RGB").resize((1, 1)).getpixel((0, 0))
    assert isinstance(values, tuple)
    return ("Red", "Green", "Blue")[values.index(max(values))]
