"""The developer terms, which a new key must accept."""

from __future__ import annotations

from typing import Final

TERMS_VERSION: Final = "2026-11-21"
"""Version of the developer terms."""

TERMS_TEXT: Final = (
    "This service runs on a computer of your own or of your organisation. Whoever runs it, its operator, is the other "
    "party to these terms; the authors of the software are not, and give no warranty for it.",
    "A key acts for this service's account: whoever holds it can start runs, spend the account's money, and read every "
    "chat and file. Keep it out of code, notebooks and logs, and delete it here when it may have been seen.",
    "What you send is stored in the service's data folder, unencrypted, until the operator removes it. With a language "
    "model or a tool that works over the network, parts of it are sent to that provider, under that provider's terms.",
    "An agent's answers can be wrong, and what it reads can mislead it. Check what matters before you use it.",
    "Send only what you may share, and do nothing with the service that is against the law. The operator can limit or "
    "suspend keys and the account at any time.",
)
