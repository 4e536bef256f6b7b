"""The mark of a data folder whose service was moved elsewhere (`agentsvc export`)."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from agentsvc_nb.wire.reading import read_json

NAME: Final = "moved"


class ExportError(Exception):
    """A folder was not moved; the message says why, and what to do."""


@dataclass(frozen=True)
class Mark:
    """What the folder's file `moved` says. `id` stands for the folder at its target; `target`, which people read, has
    no password; `moved_at` is None before the move has ended, and after `--undo`."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    target: str = ""
    moved_at: str | None = None

    @classmethod
    def read(cls, folder: Path) -> Mark | None:
        """The folder's mark; None without one. Raises `OSError`, and `ValueError` if it can't be read."""
        try:
            return cls(**read_json((folder / NAME).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (TypeError, ValueError):
            raise ValueError(
                f"{folder / NAME} can't be read: it says where the folder's service was moved to"
            ) from None

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"


def moved_to(folder: Path) -> str | None:
    """Where the folder's service was moved to, as a clause; None if it is still there."""
    try:
        mark = Mark.read(folder)
    except ValueError as error:
        return f"an unknown place ({error})"
    return f"{mark.target}, {mark.moved_at}" if mark is not None and mark.moved_at else None
