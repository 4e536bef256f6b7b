"""The pool of the generated checks."""

from collections.abc import Iterator

import pytest

from tests.independent.faces import Group, Pool


@pytest.fixture(scope="session")
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    params = (item.callspec.params for item in request.session.items if hasattr(item, "callspec"))
    chosen = [each["group"] for each in params if isinstance(each.get("group"), Group)]
    pool = Pool(chosen)
    yield pool
    pool.threads.shutdown(cancel_futures=True)
