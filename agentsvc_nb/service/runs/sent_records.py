"""Read and write the rows of runs' requests to language models."""

from __future__ import annotations

import json

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.sql import load
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.tools.port import OutgoingCall
from agentsvc_nb.wire import runs

_sql = load("runs/sent")


def add(tx: Tx, run_id: str, call: OutgoingCall, now: int) -> bool:
    """Record a request to a language model.

    Return True if the model's provider is hosted and the service has sent it no request before.
    """
    first = call.hosted and tx.one(_sql["reached"], provider=call.provider) is None
    parts = json.dumps([[part.what, part.text, part.chars] for part in call.parts], ensure_ascii=False)
    about = {"provider": call.provider, "hosted": int(call.hosted), "model": call.model, "tokens": call.tokens}
    tx.run(_sql["insert"], run_id=run_id, now=now, parts=parts, **about)
    return first


def list_by_run(tx: Tx, run_id: str) -> list[runs.SentCall]:
    return [
        runs.SentCall(
            place=row["place"],
            sent_at=rfc3339(row["sent_at"]),
            provider=row["provider"],
            hosted=bool(row["hosted"]),
            model=row["model"],
            tokens=row["tokens"],
            parts=[runs.SentPart(what=what, text=text, chars=chars) for what, text, chars in json.loads(row["parts"])],
        )
        for row in tx.all(_sql["of_run"], run_id=run_id)
    ]
