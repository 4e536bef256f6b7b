"""Examples of secrets in texts, for each row of the tables that find them; and what must be gone of each."""

from __future__ import annotations

ROWS = {
    "OpenAI, Anthropic": [("sk-ant-api03-" + "y" * 40, "yyyy"), ("OPENAI sk-proj-" + "x" * 40, "xxxx")],
    "this service": [("key svc_sk_" + "a1B-" * 10, "svc_sk_a1B-")],
    "GitHub": [("ghp_" + "Z" * 36, "ZZZZ")],
    "GitLab": [("glpat-" + "q" * 20, "qqqq")],
    "Slack": [("xoxb-1234567890-abcdef", "abcdef"), ("xoxc-1234567890-abcdef", "abcdef")],
    "Slack webhook": [("https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/" + "w" * 24, "wwww")],
    "AWS key id": [("AKIA" + "Q" * 16, "QQQQ")],
    "JSON Web Token": [("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "c2lnbmF0")],
    "Google": [
        ("googlemaps.Client('AIza" + "b" * 35 + "')", "bbbb"),
        ("GOCSPX-" + "n" * 28, "nnnn"),
    ],
    "Stripe": [("stripe sk_live_" + "c" * 24, "cccc"), ("whsec_" + "m" * 32, "mmmm")],
    "SendGrid": [("SG." + "d" * 22 + "." + "e" * 43, "eeee")],
    "Twilio": [("SK" + "0123456789abcdef" * 2, "abcdef")],
    "Telegram": [("123456789:AA" + "t" * 33, "tttt")],
    "Databricks": [("dapi" + "0123456789abcdef" * 2, "abcdef")],
    "Hugging Face": [("hf_" + "h" * 30, "hhhh")],
    "prefixes of others": [("npm_" + "f" * 36, "ffff"), ("pypi-" + "g" * 60, "gggg")],
    "private key": [
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ('"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIabc\\n-----END PRIVATE KEY-----\\n"', "MIIabc"),
    ],
    "AWS secret key": [("AKIA" + "Q" * 16 + ",wJalrXUtnFEMI/K7MDENG/bPxRfiCY0123456789", "K7MDENG")],
    "password hash": [("ada:$2b$12$" + "k" * 53, "kkkk"), ("root:$6$salt$" + "k" * 86 + ":19000", "kkkk")],
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
    "environment command": [("%env DB_PASSWORD hunter2", "hunter2"), ("ENV API_TOKEN hunter2", "hunter2")],
    "XML": [("<db><password>hunter2</password></db>", "hunter2"), ('<apiKey type="x">hunter2</apiKey>', "hunter2")],
    "object with name and value": [
        ('{"name": "DB_PASSWORD", "value": "hunter2"}', "hunter2"),
        ("env:\n  - name: DB_PASSWORD\n    value: hunter2", "hunter2"),
    ],
    "YAML block": [("secrets:\n  token: |\n    hunter2\n    more\n", "hunter2")],
}
ASSIGNED = [
    # files of settings
    "DB_PASSWORD=my own hunter2",
    "PATH=/usr/bin\nMYSQL_PWD=hunter2\nHOME=/home/ada",
    "environ({'HOME': '/home/ada', 'DB_PASSWORD': 'hunter2'})",
    "db:\n  password: hunter2",
    "[db]\npassword=hunter",
    "password = 'hunter2'  # of the shop",
    '{"clientSecret":"hunter2"}',
    '"{\\"password\\": \\"hunter2\\"}"',
    "aws_secret_access_key: hunter2/AbC // of the shop",
    "seed phrase: hunter2 abandon ability able about",
    # command lines and headers
    "shop --password=hunter --verbose",
    "run(['shop', '--password', 'hunter2'])",
    'curl -H "Authorization: Token hunter2" https://x.example',
    "Cookie: theme=dark; sid=hunter2",
    # connections
    "DRIVER={ODBC Driver 18};SERVER=db;UID=sa;PWD={hunter2};Encrypt=yes",
    "jdbc:postgresql://db/x?user=ada&password=hunter2&ssl=true",
    "host=db user=ada password=hunter dbname=shop",
    "https://x.example/a?access_token=hunter2&b=1",
    # code
    "config['db_password'] = \"hunter2\"",
    "def connect(user, password: str | None = 'hunter2'): ...",
    "os.environ.get('DB_PASSWORD', 'hunter2')",
    "[('user', 'ada'), ('password', 'hunter2')]",
    "('pin', 123456)",
    "password = ('hunt'\n    'hunter2')",
    "requests.get(url, auth=('ada', 'hunter2'))",
    "passwords = ['ada', 'hunter2']",
    "if password == 'hunter2':",
    r"password = 'it\'s hunter2'",
    'password = """\nhunter2\n"""',
    "contraseña: hunter2",
    # tables and prose
    "user        ada\npassword    hunter2\nName: 3, dtype: object",
    " name     | value\n password | hunter2\n",
    "My password is hunter2.",
    "it was ada's own word-of-the-day",
    "My card is 4111 1111 1111 1111.",
]
FOUND = ("hunter2", "hunter", "word-of-the-day", "41111111", "4111 1111", "123456")
