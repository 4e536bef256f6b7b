"""All of them, in one table."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes.kernel import KERNEL
from tests.nightly.escapes.memory import MEMORY
from tests.nightly.escapes.network import NETWORK
from tests.nightly.escapes.processes import PROCESSES
from tests.nightly.escapes.resources import RESOURCES
from tests.nightly.escapes.results import RESULTS
from tests.nightly.escapes.secrets import SECRETS
from tests.nightly.escapes.short_bombs import SHORT_BOMBS
from tests.nightly.escapes.short_outside import SHORT_OUTSIDE
from tests.nightly.escapes.short_rights import SHORT_RIGHTS

_THEMES: Final = (
    *(NETWORK, KERNEL, PROCESSES, MEMORY, RESOURCES, RESULTS, SECRETS),
    *(SHORT_OUTSIDE, SHORT_RIGHTS, SHORT_BOMBS),
)
ESCAPES: Final = {escape.name: escape for theme in _THEMES for escape in theme}
"""By their names."""
assert len(ESCAPES) == sum(map(len, _THEMES)), "two have one name"
