r"""`{{column}}` in a prompt: a row's values, as text, inserted once and never expanded again.

A value that holds `{{other}}` stays as it is: data must not be able to name columns. `\{{name}}` stands for itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError

# On one line, and the innermost braces: `\textbf{{{name}}}` holds `{{name}}`.
REFERENCE: Final = re.compile(r"(?P<escape>\\?)\{\{(?!\{)(?P<path>(?:(?!\{\{|\}\}).)*)\}\}")


def columns(prompt: str, there: Sequence[str]) -> list[str]:
    """The columns that the prompt names, each once.

    Raises `StefanBrainError` when it names none, or one that is not among `there`.

    >>> columns("Is {{text}} about {{ topic }}?", ["text", "topic", "price"])
    ['text', 'topic']
    """
    named = [found["path"].strip() for found in REFERENCE.finditer(prompt) if not found["escape"]]
    if not named:
        raise StefanBrainError(
            "The prompt names no column, so that each row would ask the same; nothing was sent.",
            hint=f"Name one, as in: Classify {{{{{there[0] if there else 'text'}}}}}",
        )
    for name in named:
        if name not in there:
            raise StefanBrainError(
                f"{{{{{name}}}}}: there is no such column; nothing was sent.",
                hint=f"The columns are: {', '.join(there)}. \\{{{{{name}}}}} is sent as it stands.",
            )
    return list(dict.fromkeys(named))


def fill(prompt: str, values: Mapping[str, Any]) -> str:
    """The prompt with a row's values: text as it is, lists and dicts as JSON, nothing for what is missing.

    >>> fill("Sum {{n}} of {{ what }}", {"n": 3, "what": "{{n}}"})
    'Sum 3 of {{n}}'
    """

    def insert(found: re.Match[str]) -> str:
        return found[0][1:] if found["escape"] else _text(values[found["path"].strip()])

    return REFERENCE.sub(insert, prompt)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)
