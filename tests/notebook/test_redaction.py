"""Secrets go, and the rest of the text stays. Each row of the tables of forms has an example here."""

from __future__ import annotations

import pytest

from agentsvc_nb.key_forms import KEY_FORMS
from agentsvc_nb.notebook.kernel.edits import restored
from agentsvc_nb.notebook.redaction import FORMS, is_secret_name, redacted
from tests.notebook.secret_forms import ASSIGNED, FOUND, ROWS

ENVIRON = {"SHOP_API_KEY": "word-of-the-day", "HOME": "/home/ada", "PWD": "/home/ada/shop", "SHORT_KEY": "key"}


OTHER_NAMES = (
    "passenger|authority|pinboard|author|compass|spin|shipping|keyboard|secretary|token_count|private_label|keyword"
    "|tokens|monkey|keys|passengers|passive|bypass|first_pass|pinned|shopping|opinion|authors|authenticated"
    "|primary_key|foreign_key|sort_key|max_tokens|tokenizer|pad_token|password_length|password_changed_at|has_password"
    "|credentials_file|private_rooms|cookie_banner|encompass|spinner|captain|assn|lesson|session_id|order_id|||_"
)


SECRET_NAMES = (
    "api-key|API Key|apiKey|x-api-key|pass|pw|pin|otp|ssn|creds|auth|private|tokenValue|seed_phrase|passwort|kennwort"
    "|mot_de_passe|contraseña|Contrasen\u0303a|API_KEY|openai_api_key|db_password|SECRET|aws_access_key|dbPassword"
    "|PGPASSWORD|MYSQL_PWD|userpass_pw|password1|password_hash|SECRET_KEY_BASE|client-secret|PrivateKey|privateKeyId"
    "|db.password|db_pass|card_pin|pinCode|basic_auth|Authorization|Set-Cookie|credentials|cvv|IBAN|card number|key"
    "|stripe_key|sentry_dsn|access_tokens|datenbankpasswort|пароль|密码|user password|token_2|Passphrase"
)


@pytest.mark.parametrize("row", [*KEY_FORMS, *FORMS])
def test_each_row_finds_its_examples(row: str) -> None:
    for text, secret in ROWS[row]:
        shown = redacted(f"before\n{text}", ENVIRON)
        assert secret not in shown
        assert "[redacted]" in shown
        assert shown.startswith("before\n")
        assert restored(shown, f"before\n{text}") == f"before\n{text}"


@pytest.mark.parametrize("text", ASSIGNED)
def test_the_value_of_a_secret_name_goes(text: str) -> None:
    for around in ("{}", "before\n{}\nafter"):
        shown = redacted(around.format(text), ENVIRON)
        assert not [secret for secret in FOUND if secret in shown], shown
        assert "[redacted]" in shown
        assert shown.startswith(around.partition("{")[0])
        assert shown.endswith(around.rpartition("}")[2])


@pytest.mark.parametrize(
    "text",
    [
        "tokens = tokenizer.encode(text)",
        "a key of 'price'",
        "x = d['key']",
        "sorted(rows, key='price')",
        "http://host:80/a@b",
        "# basic statistics, Basic Regression, basic data_frame",
        # prose
        "A password must have at least 12 characters. Passwords: see the handbook.",
        "The token: it is valid for an hour. Its password is required, the pin is optional.",
        "| user | password | email |\n| --- | --- | --- |",
        "    password    The password of the account",
        # code that reads
        'password = os.environ["DB_PASSWORD"]',
        "password = getpass()",
        "password = getpass.getpass('Password: ')",
        "connect(user=user, password=db_password, port=5432)",
        "connect(\n    password=password,\n    token=get_token(),\n)",
        "def connect(user: str, password: str, token: bytes | None = None): ...",
        "class Login(BaseModel):\n    password: str\n    api_key: SecretStr\n    pin: int",
        '    password: The password of the account.\n    token: One that "login" gave.',
        "add_argument('--password', required=True)",
        "if not token: raise ValueError('no token')",
        "max_tokens=512, token_count=3, primary_key='id', pass_rate=0.5",
        "git checkout 356a192b7913b04c54574d18c28d46e6395428ab",
        "create table users (id int, password varchar(99), pin integer)",
        # placeholders
        "DB_PASSWORD=<password>",
        "DB_PASSWORD=${DB_PASSWORD}",
        "password: '***'",
        'headers = {"Authorization": f"Bearer {token}"}',
        "where password = %s and pin = ?",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert redacted(text, ENVIRON) == text


def test_a_name_says_that_its_value_is_a_secret() -> None:
    assert [name for name in SECRET_NAMES.split("|") if not is_secret_name(name)] == []
    assert [name for name in OTHER_NAMES.split("|") if is_secret_name(name)] == []


@pytest.mark.parametrize("secret", ["4111 1111 1111 1111", "AIza" + "b" * 35, "sk-ant-" + "x" * 20])
def test_the_change_of_a_cell_that_went_along_redacted_finds_its_values_again(secret: str) -> None:
    """What `--fix` sends is redacted by the same rules by which the answer is restored."""
    cell = f"key = '{secret}'\nprnt(key)"
    corrected = redacted(cell, {}).replace("prnt", "print")
    assert restored(corrected, cell) == cell.replace("prnt", "print")


@pytest.mark.parametrize(
    "repeated",
    [
        "eyJ-",
        "token = ",
        "password=f(",
        "://a:",
        "('pin', '",
        "1 ",
    ],
)
def test_the_time_grows_with_the_length_of_the_text(repeated: str) -> None:
    """A search that takes time with the square of the length does not end within the time limit of a test."""
    assert redacted(repeated * (100_000 // len(repeated)), {})
