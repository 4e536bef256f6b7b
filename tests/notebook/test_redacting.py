"""Secrets go, and the rest of the text stays."""

from __future__ import annotations

import pytest

from agentsvc_nb.notebook.kernel.edits import restored
from agentsvc_nb.notebook.redaction import redacted


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
        ("googlemaps.Client('AIza" + "b" * 35 + "')", "bbbb"),
        ("stripe sk_live_" + "c" * 24, "cccc"),
        ("SG." + "d" * 22 + "." + "e" * 43, "eeee"),
        ("npm_" + "f" * 36, "ffff"),
        ("AccountKey=" + "i" * 40 + "==", "iiii"),
        ("https://x.example/a?sig=abcdef123&b=1", "abcdef123"),
        ("pay('4111 1111 1111 1111')", "4111 1111"),
        ("My card is 4111 1111 1111 1111.", "4111 1111"),
        ("No.4111111111111111", "41111111"),
        ('password = "it\'s hunter22"', "hunter22"),
        (r"password = 'it\'s hunter22'", "hunter22"),
        ('password = """hunter22"""', "hunter22"),
        ("postgres://ada:hunt@er22@db.example/x", "er22"),
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
    "text",
    [
        "tokens = tokenizer.encode(text)",
        "a key of 'price'",
        "x = d['key']",
        "http://host:80/a@b",
        "/home/ada",
        "# basic statistics, Basic Regression, basic data_frame",
        "password = ''; name = 'ada'",
        "0.4111111111111111",
        "4111111111111111.5",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert redacted(text, {"HOME": "/home/ada", "SHORT_KEY": "key"}) == text


@pytest.mark.parametrize("secret", ["4111 1111 1111 1111", "AIza" + "b" * 35, "sk-ant-" + "x" * 20])
def test_the_change_of_a_cell_that_went_along_redacted_finds_its_values_again(secret: str) -> None:
    """What `--fix` sends is redacted by the same rules by which the answer is restored."""
    cell = f"key = '{secret}'\nprnt(key)"
    corrected = redacted(cell, {}).replace("prnt", "print")
    assert restored(corrected, cell) == cell.replace("prnt", "print")


@pytest.mark.parametrize("repeated", ["eyJ-", "token", "token =    ", "://a:", "-----BEGIN ", "1 ", "password = '\\"])
def test_a_text_of_others_takes_time_by_its_length(repeated: str) -> None:
    """These took minutes, as the square of their length."""
    assert len(redacted(repeated * 20_000, {})) > 0
