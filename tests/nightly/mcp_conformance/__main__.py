"""Prints how many checks of each scenario pass."""

from __future__ import annotations

from tests.nightly.mcp_conformance import suite
from tests.nightly.mcp_conformance.launcher import fixture_service


def main() -> None:
    with fixture_service() as service:
        for revision in suite.REVISIONS:
            found, said = suite.run(service, revision)
            print(f"{revision}: {sum(one.passed for one in found)} passed, {sum(one.failed for one in found)} failed")
            for one in found:
                print(f"  {one.name}: {one.passed} passed, {one.failed} failed")
            if not found:
                print(said)


if __name__ == "__main__":
    main()
