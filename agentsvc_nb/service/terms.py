"""The developer terms, which users must accept to create a key."""

from __future__ import annotations

from typing import Final

TERMS_VERSION: Final = "2026-11-21"
"""The current version of the developer terms."""

TERMS_TEXT: Final = (
    "This service runs on a computer of your own or of your organisation. The person who runs it, its "
    "operator, is the other party to these terms. The authors of the software are not a party, and "
    "give no warranty.",
    "A key acts for this service's account: anyone who has the key can start runs, spend the account's "
    "money, and read every chat and file. Keep keys out of code, notebooks and logs. If someone else "
    "may have seen a key, delete it in the settings.",
    "The service stores what you send in its data folder, unencrypted, until the operator removes it. "
    "A language model, or a tool that works over the network, sends parts of it to that provider, "
    "under that provider's terms.",
    "An agent's answers can be wrong, and the content it reads can mislead it. Check important results "
    "before you use them.",
    "Send only data that you may share, and do not use the service for anything illegal. The operator "
    "can limit or suspend keys and the account at any time.",
)
