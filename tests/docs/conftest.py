"""The docs' code runs in the shells of the notebook tests."""

from tests.notebook.conftest import own_folders as own_folders
from tests.notebook.conftest import terminal as terminal
