r"""Replace `{{name}}` in a prompt with a notebook variable's value. Inserted text is not searched for further names.

If a value itself contains `{{other}}`, that is not replaced, because data must not be able to read variables.
`\{{name}}` inserts a literal `{{name}}`.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.client.batch_rows import REFERENCE
from agentsvc_nb.notebook.errors import AskError

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\w+\])*")
_PART = re.compile(r"^\w+|\.\w+|\[\w+\]")
_SCALARS: Final = (str, int, float, bool, decimal.Decimal, datetime.date, datetime.time, pathlib.PurePath)


class TemplateError(AskError):
    """A `{{name}}` could not be replaced with a value, so nothing was sent."""


def expand(prompt: str, variables: Mapping[str, Any]) -> str:
    """Replace each `{{...}}` in a prompt with the value of a variable.

    Allowed are names, attributes (`{{plan.title}}`) and keys (`{{row[price]}}`), but no other expressions. Text,
    numbers, dates and paths are inserted as `str` prints them, and lists and dicts as JSON.

    Raises:
        TemplateError: the braces contain something else than a name, the name does not exist, or its value can't be
            converted to text (such as a DataFrame).

    >>> expand("Sum {{n}} of {{ what }}", {"n": 3, "what": "{{n}}"})
    'Sum 3 of {{n}}'
    """

    def fill(match: re.Match[str]) -> str:
        path = match["path"].strip()
        return match[0][1:] if match["escape"] else _text(path, _look_up(path, variables))

    return REFERENCE.sub(fill, prompt)


def insert(value: Any, variables: Mapping[str, Any]) -> Any:
    """Apply `expand` to each text in a JSON value. If a text is only `{{name}}`, and the variable holds a number, list
    or dict, this value itself replaces the text.

    >>> insert({"count": "{{n}}", "brief": "{{n}} pictures"}, {"n": 3})
    {'count': 3, 'brief': '3 pictures'}
    """
    if isinstance(value, dict):
        return {key: insert(part, variables) for key, part in value.items()}
    if isinstance(value, list):
        return [insert(part, variables) for part in value]
    if not isinstance(value, str):
        return value
    alone = REFERENCE.fullmatch(value.strip())
    found = _look_up(alone["path"].strip(), variables) if alone and not alone["escape"] else None
    return found if isinstance(found, bool | int | float | list | dict) else expand(value, variables)


def _look_up(path: str, variables: Mapping[str, Any]) -> Any:
    def refused(problem: str, hint: str) -> TemplateError:
        return TemplateError(f"{{{{{path}}}}}: {problem}; nothing was sent.", hint)

    if not _PATH.fullmatch(path):
        raise refused(
            "only variable names are allowed in double braces", f"Write \\{{{{{path}}}}} to send it unchanged."
        )
    name, *parts = _PART.findall(path)
    if name not in variables:
        raise refused(
            f"the variable `{name}` does not exist", f"Define it, or write \\{{{{{path}}}}} to send the text unchanged."
        )
    value = variables[name]
    for part in parts:
        attribute, key = part.removeprefix("."), part.strip("[]")
        try:
            if part.startswith("["):
                value = value[int(key) if key.isdecimal() and not isinstance(value, Mapping) else key]
            elif attribute.startswith("_"):
                raise AttributeError(attribute)
            else:
                value = getattr(value, attribute)
        except Exception:
            raise refused(f"`{part.strip('.[]')}` does not exist", f"Show the value with `{name}` in a cell.") from None
    return value


def _text(path: str, value: Any) -> str:
    if isinstance(value, _SCALARS):
        return str(value)
    if isinstance(value, list | tuple | dict):
        with contextlib.suppress(TypeError, ValueError):
            return json.dumps(value, ensure_ascii=False, default=lambda part: _text(path, part))
    attach = (
        f"Attach it with `--df {path}`"
        if hasattr(value, "to_csv")
        else "Save it to a file and attach the file with --file"
    )
    raise TemplateError(
        f"{{{{{path}}}}} is a {type(value).__name__}, not text; nothing was sent.",
        f"{attach}, or convert it to a text.",
    )
