"""Exit codes, and which errors are a sentence for the user rather than a traceback."""

from __future__ import annotations

from typing import Final

EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_HELD: Final = 75
EXIT_INTERRUPTED: Final = 130


def exit_code(error: Exception) -> int | None:
    """The exit code of an expected failure; None for a fault of ours."""
    from agentsvc_nb.service.folder import FolderHeld
    from agentsvc_nb.settings import SettingsError

    if isinstance(error, SettingsError):
        return EXIT_USAGE
    if isinstance(error, FolderHeld):  # told first and quickly: an embedded starter is waiting for it
        return EXIT_HELD
    return EXIT_ERROR if isinstance(error, _expected()) else None


def sentence(error: Exception) -> str:
    """What is printed of an expected failure."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _expected() -> tuple[type[Exception], ...]:
    from agentsvc_nb.client.errors import StefanBrainError
    from agentsvc_nb.commands.models import PullError
    from agentsvc_nb.embedded import EmbeddedError
    from agentsvc_nb.service.api_error import ApiError
    from agentsvc_nb.service.backup import BackupError
    from agentsvc_nb.service.folder import NoService
    from agentsvc_nb.service.serve import ServeError
    from agentsvc_nb.service.store.migrations import SchemaTooNew

    ours = (BackupError, EmbeddedError, ApiError, NoService, PullError, SchemaTooNew, ServeError, StefanBrainError)
    return *ours, OSError
