"""The fixtures of the contract's tests."""

from tests.service.api.conftest import fresh_key as fresh_key
from tests.service.api.conftest import stage as stage
from tests.service.api.conftest import wire as wire
