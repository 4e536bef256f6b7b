"""Secrets go, and the rest of the text stays."""

from __future__ import annotations

import pytest

from agentsvc_nb.notebook.errors import redacted


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("key svc_sk_" + "a1B-" * 10, "svc_sk_a1B-"),
        ("OPENAI sk-proj-" + "x" * 40, "xxxx"),
        ("ghp_" + "Z" * 36, "ZZZZ"),
        ("AKIA" + "Q" * 16, "QQQQ"),
        ("'Authorization': 'Bearer abc.def-ghi123'", "abc.def"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpw"),
        ("postgres://ada:hunter22@db.example/x", "hunter22"),
        ("PASSWORD = 'hunter22'", "hunter22"),
        ("config['db_password'] = \"hunter22\"", "hunter22"),
        ('{"client_secret": "hunter22"}', "hunter22"),
        ("connect(token=f'hunter22')", "hunter22"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "c2lnbmF0"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ("it was ada's own word-of-the-day", "word-of-the-day"),
    ],
)
def test_a_secret_goes(text: str, secret: str) -> None:
    shown = redacted(f"before {text} after", {"SHOP_API_KEY": "word-of-the-day", "HOME": "/home/ada"})
    assert secret not in shown
    assert "[redacted]" in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")


@pytest.mark.parametrize(
    "text", ["tokens = tokenizer.encode(text)", "a key of 'price'", "x = d['key']", "http://host:80/a@b", "/home/ada"]
)
def test_the_rest_stays(text: str) -> None:
    assert redacted(text, {"HOME": "/home/ada", "SHORT_KEY": "key"}) == text
