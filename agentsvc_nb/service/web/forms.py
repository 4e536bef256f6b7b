"""The fields of a posted form."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.wire.limits import FORM_MAX_BYTES

_FIELDS_MAX = 50


async def read(request: Request) -> dict[str, str]:
    """The form's fields without their outer blanks, empty ones left out."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > FORM_MAX_BYTES:
            raise Fail("attachment_too_large", "The form holds too much: shorten what you wrote.")
    try:
        pairs = parse_qsl(received.decode(), max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise Fail("invalid_query", "The form can't be read: send it from the page.") from None
    return {name: value.strip() for name, value in pairs if value.strip()}
