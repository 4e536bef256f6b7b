"""All of them, in one table."""

from __future__ import annotations

from typing import Final

from tests.contract.escapes.kernel import KERNEL
from tests.contract.escapes.memory import MEMORY
from tests.contract.escapes.network import NETWORK
from tests.contract.escapes.processes import PROCESSES
from tests.contract.escapes.resources import RESOURCES
from tests.contract.escapes.results import RESULTS
from tests.contract.escapes.secrets import SECRETS
from tests.contract.escapes.short_bombs import SHORT_BOMBS
from tests.contract.escapes.short_outside import SHORT_OUTSIDE
from tests.contract.escapes.short_rights import SHORT_RIGHTS

_THEMES: Final = (
    *(NETWORK, KERNEL, PROCESSES, MEMORY, RESOURCES, RESULTS, SECRETS),
    *(SHORT_OUTSIDE, SHORT_RIGHTS, SHORT_BOMBS),
)
ESCAPES: Final = {escape.name: escape for theme in _THEMES for escape in theme}
"""By their names."""
assert len(ESCAPES) == sum(map(len, _THEMES)), "two have one name"
