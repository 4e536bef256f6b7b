"""Create API keys directly in the database, for the command line or a starting service (docs/api/accounts.md)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from agentsvc_nb import clock
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import DatabaseEngine, StoreUnusable, Tx
from agentsvc_nb.service.store import create_database


class _MachineClock:
    """A `ports.Clock` that reads this machine's clock."""

    def now(self) -> int:
        return clock.now_ms()


def create_key(
    folder: DataFolder,
    *,
    name: str,
    scopes: tuple[str, ...] = (),
    budget_cents: int | None = None,
    member: bool = False,
) -> str:
    """Create an API key and return its secret. A running server accepts the key at once.

    A key without scopes has full access. Raises `ApiError("invalid_scope")`, and `SchemaTooNew` for a folder that a
    newer version wrote.
    """

    def create(tx: Tx) -> str:
        check_secret(tx, folder)
        given = accounts.create_key(
            tx,
            _MachineClock(),
            name=name,
            scopes=scopes,
            budget_cents=budget_cents,
            member=member,
            shared_secret=folder.secret,
        )
        return given[1]

    with open_database(folder) as database:
        return database.write_now(create)


def ensure_own_key(folder: DataFolder) -> None:
    """Write a new full-access key to `folder.key`, unless the database knows the key that the file already has.

    This is safe while a service runs. Raises `StoreBusy`, `sqlite3.Error` and `OSError`.
    """

    def ensure(tx: Tx) -> None:
        # Check again in the transaction: if several processes find no known key, only one of them must create one.
        check_secret(tx, folder)
        if not _is_known(tx, folder):
            _, secret = accounts.create_key(tx, _MachineClock(), name="embedded", shared_secret=folder.secret)
            write_private(folder.key, secret + "\n")

    with open_database(folder) as database:
        if not database.read(lambda tx: _is_known(tx, folder)):  # usually known, and a read waits for no lock
            database.write_now(ensure)


def check_secret(tx: Tx, folder: DataFolder) -> None:
    """Raise `StoreUnusable` unless this process hashes keys with the same secret as the database's other processes."""
    if folder.address is None:
        return
    if folder.secret is None:
        raise StoreUnusable(
            "AGENTSVC_SECRET is not set. All processes that share AGENTSVC_DATABASE hash API keys with it: set "
            "it to the same value for each of them. `openssl rand -hex 32` generates a secret."
        )
    if not accounts.check_shared_secret(tx, folder.secret):
        raise StoreUnusable(
            "AGENTSVC_SECRET does not match the API keys of this database: set it to the value with which they "
            "were created."
        )


def _is_known(tx: Tx, folder: DataFolder) -> bool:
    """Return whether the database knows the key in the key file, even if the key or its account is suspended."""
    try:
        accounts.find_key(tx, folder.own_key(), folder.secret)
    except OSError:
        return False
    except ApiError as failure:
        # The operator suspended the key or the account on purpose. A new key would bypass the suspension of a key, and
        # would not work for a suspended account.
        return failure.row.code != "unauthorized"
    return True


@contextlib.contextmanager
def open_database(folder: DataFolder) -> Iterator[DatabaseEngine]:
    """Open the database for the `with` block, whether or not a server runs. A running server sees writes at once.

    Raises `FolderFault`, `StoreUnavailable` and `StoreUnusable`.
    """
    folder.make()
    database = create_database(folder).open()
    try:
        yield database
    finally:
        database.close()
