"""Secrets go, and the rest of the text stays. Each row of the tables of forms has an example here."""

from __future__ import annotations

import pytest

from agentsvc_nb.key_forms import KEY_FORMS
from agentsvc_nb.notebook.kernel.edits import restore_masked
from agentsvc_nb.notebook.redaction import FORMS, is_secret_name, redact

ROWS = {
    "OpenAI, Anthropic": [("sk-ant-api03-" + "y" * 40, "yyyy")],
    "this service": [("key svc_sk_" + "a1B-" * 10, "svc_sk_a1B-")],
    "GitHub": [("ghp_" + "Z" * 36, "ZZZZ")],
    "GitLab": [("glpat-" + "q" * 20, "qqqq")],
    "Slack": [("xoxb-1234567890-abcdef", "abcdef")],
    "Slack webhook": [("https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/" + "w" * 24, "wwww")],
    "AWS key id": [("AKIA" + "Q" * 16, "QQQQ")],
    "JSON Web Token": [("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "c2lnbmF0")],
    "Google": [
        ("googlemaps.Client('AIza" + "b" * 35 + "')", "bbbb"),
        ("GOCSPX-" + "n" * 28, "nnnn"),
    ],
    "Stripe": [("stripe sk_live_" + "c" * 24, "cccc")],
    "SendGrid": [("SG." + "d" * 22 + "." + "e" * 43, "eeee")],
    "Twilio": [("SK" + "0123456789abcdef" * 2, "abcdef")],
    "Telegram": [("123456789:AA" + "t" * 33, "tttt")],
    "Databricks": [("dapi" + "0123456789abcdef" * 2, "abcdef")],
    "Hugging Face": [("hf_" + "h" * 30, "hhhh")],
    "prefixes of others": [("npm_" + "f" * 36, "ffff")],
    "private key": [
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ('"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIabc\\n-----END PRIVATE KEY-----\\n"', "MIIabc"),
    ],
    "AWS secret key": [("AKIA" + "Q" * 16 + ",wJalrXUtnFEMI/K7MDENG/bPxRfiCY0123456789", "K7MDENG")],
    "password hash": [("ada:$2b$12$" + "k" * 53, "kkkk")],
    "Azure": [
        ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=" + "i" * 40 + "==;EndpointSuffix=x", "iiii"),
        ("Endpoint=sb://shop.example/;SharedAccessKeyName=all;SharedAccessKey=" + "i" * 40 + "=", "iiii"),
    ],
    "signed address": [("https://x.example/a?sig=abcdef123&b=1", "abcdef123")],
    "bearer": [("Bearer abcdefgh12345678", "abcdefgh")],
    "basic": [("Basic dXNlcjpwYXNz", "dXNlcjpw")],
    "password in an address": [
        ("postgres://ada:hunter2@db.example/x", "hunter2"),
        ("postgres://ada:hunt@er2@db.example/x", "er2"),
    ],
    "Oracle address": [("jdbc:oracle:thin:scott/hunter2@db.example:1521:x", "hunter2")],
    "user and password of an option": [
        ("curl -u ada:hunter2 https://x.example", "hunter2"),
    ],
    "argument of a call": [
        ("requests.get(url, auth=HTTPBasicAuth('ada', 'hunter2'))", "hunter2"),
    ],
    "password option of a client": [
        ("mysql -u root -phunter2 shop", "hunter2"),
    ],
    ".netrc": [
        ("machine x.example login ada password hunter2", "hunter2"),
    ],
    ".pgpass": [("db.example:5432:shop:ada:hunter2", "hunter2"), ("*:*:*:ada:hunter2", "hunter2")],
    "SQL": [
        ("alter role ada with password 'hunter2'", "hunter2"),
    ],
    "environment command": [("%env DB_PASSWORD hunter2", "hunter2")],
    "XML": [("<db><password>hunter2</password></db>", "hunter2")],
    "object with name and value": [
        ('{"name": "DB_PASSWORD", "value": "hunter2"}', "hunter2"),
        ("env:\n  - name: DB_PASSWORD\n    value: hunter2", "hunter2"),
    ],
    "YAML block": [("secrets:\n  token: |\n    hunter2\n    more\n", "hunter2")],
}
ASSIGNED = [
    # files of settings
    "DB_PASSWORD=my own hunter2",
    "db:\n  password: hunter2",
    '"{\\"password\\": \\"hunter2\\"}"',
    "seed phrase: hunter2 abandon ability able about",
    # command lines and headers
    "shop --password=hunter --verbose",
    'curl -H "Authorization: Token hunter2" https://x.example',
    # connections
    "DRIVER={ODBC Driver 18};SERVER=db;UID=sa;PWD={hunter2};Encrypt=yes",
    "https://x.example/a?access_token=hunter2&b=1",
    # code
    "config['db_password'] = \"hunter2\"",
    "def connect(user, password: str | None = 'hunter2'): ...",
    "os.environ.get('DB_PASSWORD', 'hunter2')",
    "password = ('hunt'\n    'hunter2')",
    "if password == 'hunter2':",
    "contraseña: hunter2",
    # tables and prose
    "user        ada\npassword    hunter2\nName: 3, dtype: object",
    "My password is hunter2.",
    "it was ada's own word-of-the-day",
    "My card is 4111 1111 1111 1111.",
]
FOUND = ("hunter2", "hunter", "word-of-the-day", "4111 1111")
ENVIRON = {"SHOP_API_KEY": "word-of-the-day", "HOME": "/home/ada", "PWD": "/home/ada/shop", "SHORT_KEY": "key"}
OTHER_NAMES = (
    "passenger|authority|pinboard|author|keyboard|secretary|token_count|keyword|tokens|monkey|keys|bypass|first_pass"
    "|primary_key|max_tokens|tokenizer|password_length|has_password|credentials_file|cookie_banner|session_id||_"
)
SECRET_NAMES = (
    "api-key|API Key|apiKey|pass|pw|pin|otp|ssn|creds|auth|private|tokenValue|passwort|mot_de_passe|contraseña"
    "|openai_api_key|SECRET|aws_access_key|dbPassword|PGPASSWORD|MYSQL_PWD|password1|SECRET_KEY_BASE|privateKeyId"
    "|db.password|card_pin|basic_auth|Authorization|Set-Cookie|cvv|IBAN|card number|key|access_tokens|пароль|密码"
)


@pytest.mark.parametrize("row", [*KEY_FORMS, *FORMS])
def test_each_row_finds_its_examples(row: str) -> None:
    for text, secret in ROWS[row]:
        shown = redact(f"before\n{text}", ENVIRON)
        assert secret not in shown
        assert "[redacted]" in shown
        assert shown.startswith("before\n")
        assert restore_masked(shown, f"before\n{text}") == f"before\n{text}"


@pytest.mark.parametrize("text", ASSIGNED)
def test_the_value_of_a_secret_name_goes(text: str) -> None:
    for around in ("{}", "before\n{}\nafter"):
        shown = redact(around.format(text), ENVIRON)
        assert not [secret for secret in FOUND if secret in shown], shown
        assert "[redacted]" in shown
        assert shown.startswith(around.partition("{")[0])
        assert shown.endswith(around.rpartition("}")[2])


@pytest.mark.parametrize(
    "text",
    [
        "tokens = tokenizer.encode(text)",
        "a key of 'price'",
        "http://host:80/a@b",
        "# basic statistics, Basic Regression, basic data_frame",
        # prose
        "A password must have at least 12 characters. Passwords: see the handbook.",
        "| user | password | email |\n| --- | --- | --- |",
        # code that reads
        'password = os.environ["DB_PASSWORD"]',
        "password = getpass()",
        "connect(user=user, password=db_password, port=5432)",
        "connect(\n    password=password,\n    token=get_token(),\n)",
        "class Login(BaseModel):\n    password: str\n    api_key: SecretStr\n    pin: int",
        "if not token: raise ValueError('no token')",
        "max_tokens=512, token_count=3, primary_key='id', pass_rate=0.5",
        "create table users (id int, password varchar(99), pin integer)",
        # placeholders
        "DB_PASSWORD=${DB_PASSWORD}",
        'headers = {"Authorization": f"Bearer {token}"}',
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert redact(text, ENVIRON) == text


def test_a_name_says_that_its_value_is_a_secret() -> None:
    assert [name for name in SECRET_NAMES.split("|") if not is_secret_name(name)] == []
    assert [name for name in OTHER_NAMES.split("|") if is_secret_name(name)] == []


@pytest.mark.parametrize("repeated", ["token = ", "://a:", "1 "])
def test_the_time_grows_with_the_length_of_the_text(repeated: str) -> None:
    """A search that takes time with the square of the length does not end within the time limit of a test."""
    assert redact(repeated * (100_000 // len(repeated)), {})
