"""`send_email`: a message to people that the operator allows."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from agentsvc_nb.wire.toolset.shapes import Filled, ToolInput, ToolOutput, WorkspacePath

RECIPIENTS_MAX: Final = 50
TEXT_CHARS: Final = 200_000
ATTACHMENTS_MAX: Final = 10
ADDRESS_CHARS: Final = 254
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Control characters, tabs among them, and the other ends of lines."""


def _literal(address: str) -> str:
    """An address is written into the mail as it is: receivers would decode an encoded word in it."""
    if "=?" in address:
        raise ValueError("give the plain address, without =?, which begins an encoded word")
    return address


Address = Annotated[
    str,
    StringConstraints(
        pattern=rf"^[^@\s{_CONTROL}<>,;:\"()\[\]\\]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$",
        max_length=ADDRESS_CHARS,
    ),
    AfterValidator(_literal),
]
Subject = Annotated[str, StringConstraints(pattern=rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$", max_length=250)]


class SendEmailInput(ToolInput):
    to: list[Address] = Field(min_length=1, max_length=RECIPIENTS_MAX, description="Who gets it.")
    subject: Subject = Field(description="One line.")
    text: Annotated[Filled, StringConstraints(max_length=TEXT_CHARS)] = Field(description="The message, as plain text.")
    html: Annotated[str, StringConstraints(max_length=TEXT_CHARS)] | None = Field(
        default=None, description="The same as HTML, for readers that show it."
    )
    attachments: list[WorkspacePath] = Field(
        default_factory=list, max_length=ATTACHMENTS_MAX, description="Paths of files in the workspace."
    )
    dry_run: bool = Field(
        default=True, description="True: the message is only written into the workspace, as an .eml file."
    )


class SentEmail(ToolOutput):
    sent: bool = Field(description="Whether a mail server took it.")
    message_id: str = Field(description="Made from the call: receivers would know a repetition of it.")
    path: str = Field(description="The message as a file in the workspace.")
    recipients: list[str]
    refused: list[str] = Field(description="Recipients that the mail server did not take.")
