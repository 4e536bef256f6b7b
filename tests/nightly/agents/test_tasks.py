"""Every task of an analyst in each provider's form (`TESTS_EVERY`)."""

from __future__ import annotations

import pytest

from tests.service.agents.test_tasks import desks, test_a_task_is_done

__all__ = ["desks", "test_a_task_is_done"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
