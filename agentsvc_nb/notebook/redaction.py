"""Find secrets, such as passwords and keys, in a text of the user, and replace them.

Secrets are found in two ways: by their name (`is_secret_name`), and by their form or the words around them (`FORMS`,
and `KEY_FORMS` in `key_forms`). `tests/notebook/test_redaction.py` has an example for each word and form.
"""

from __future__ import annotations

import itertools
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from agentsvc_nb.key_forms import HIDDEN, KEY_FORMS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ---- Names -----------------------------------------------------------------------------------------------------------

_ENDINGS: Final = tuple(
    _words(
        "password passwords passwd passphrase passcode passwort passwoerter kennwort losungswort zugangsdaten"
        " motdepasse contrasena contrasenya senha wachtwoord haslo пароль 密码 密碼 パスワード 비밀번호"
        " secret secrets geheimnis credential credentials apikey apikeys accesskey secretkey privatekey signingkey"
        " encryptionkey masterkey accountkey authkey sshkey authtoken authtokens accesstoken accesstokens apitoken"
        " apitokens refreshtoken refreshtokens sessiontoken bearertoken seedphrase recoveryphrase recoverycode"
        " recoverycodes backupcode backupcodes securitycode accesscode verificationcode onetimecode securityanswer"
        " authorization cardnumber cardno socialsecuritynumber"
    )
)
"""A name is secret if any word in it, or several words joined without separators, has one of these endings."""
_WORDS: Final = _words("pw pwd pwds otp totp ssn creds cred cvv cvc iban mnemonic psk")
"""A name is secret if it contains one of these words."""
_LAST_WORDS: Final = _words("pass pin auth key token private cookie cookies dsn")
"""A name is secret if its last word is one of these: `api_token` is secret, but `token_count` is not."""
_TAILS: Final = _words("value values code number string text hash id raw prod dev test staging live old new")
"""These words are ignored at the end of a name, so `tokenValue` is secret like `token`."""
_ABOUT: Final = _words(
    "file files path dir folder count counts length len type kind policy expiry expires expired at date time age url"
    " uri endpoint min max limit size rate required valid strength reset changed updated created version status field"
    " column label hint stdin name names manager store error errors per usage scope scopes enabled"
)
"""A name that ends in one of these words is not secret, because it only describes a secret (`password_length`)."""
_QUESTIONS: Final = _words("is has had needs requires forgot wrong no num n")
"""A name that begins with one of these words is not secret, because it only describes a secret (`has_password`)."""
_ORDINARY: Final = {
    "key": _words(
        "primary foreign sort group grouping partition row index join merge cache dict natural surrogate composite"
        " unique candidate a the this that its sorting lookup map idempotency object bucket"
    ),
    "token": _words("pad eos bos unk cls sep mask special next start end stop first last"),
    "pass": _words("boarding low high band first second third one two single multi forward backward by all"),
}
"""By the last word of a name, the words before it that make the name harmless, such as `primary` in `primary_key`."""
_KEY_IN_PROSE: Final = _words("api access secret private account encryption signing master ssh license auth")
"""In a name with spaces, "key" is secret only after one of these words, because "the key" alone is harmless."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS: Final = re.compile(r"[\W_]+")
_NUMBERED: Final = re.compile(r"(?<=[^\W\d])\d+$")
NAME_CHARS: Final = 200
"""Only this many characters at the end of a name are checked, because longer text is data."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return True if a variable, column, key or option with this name holds a secret.

    >>> [is_secret_name(name) for name in ("db_password", "tokenValue", "API Key", "mot_de_passe")]
    [True, True, True, True]
    >>> [is_secret_name(name) for name in ("passenger", "token_count", "primary_key", "tokens")]
    [False, False, False, False]
    """
    marks = unicodedata.normalize("NFKD", name[-NAME_CHARS:])
    letters = "".join(char for char in marks if not unicodedata.combining(char))
    words = [_NUMBERED.sub("", word.casefold()) for word in _SEPARATORS.split(_CAMEL.sub("_", letters)) if word]
    while words and words[-1].isdecimal():
        words.pop()
    if not words or words[0] in _QUESTIONS or (len(words) > 1 and words[-1] in _ABOUT):
        return False
    joined = itertools.accumulate(words)  # `mot_de_passe` ends in `motdepasse`
    if _WORDS.intersection(words) or any(beginning.endswith(_ENDINGS) for beginning in joined):
        return True
    while len(words) > 1 and words[-1] in _TAILS:
        words.pop()
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last not in _LAST_WORDS or before in _ORDINARY.get(last, ()):
        return False
    if last == "private" and before:
        return False
    return not (last == "key" and " " in name.strip() and before not in _KEY_IN_PROSE)


def labels_secret(value: object) -> bool:
    """Return True if a value in a row names a secret, so that the next value is secret, as in ("password", "x").

    >>> labels_secret("API Key"), labels_secret("nobody has my password any more")
    (True, False)
    """
    return isinstance(value, str) and len(value) <= 60 and value.count(" ") <= 1 and is_secret_name(value)


# ---- Texts -----------------------------------------------------------------------------------------------------------

# What a pattern matches is replaced: its group `secret`, or without this group, the whole match. If it has a group
# `name`, the name must be secret. The text may be hostile, and the search must not take quadratic time. So each
# repetition that is followed by another one is possessive, bounded, or ends at a character of another class.
FORMS: Final = {
    "private key": re.compile(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        re.DOTALL,
    ),
    "AWS secret key": re.compile(
        r"(?<![\w/+=.-])(?=[a-z\d/+]{0,39}[A-Z])(?=[A-Z\d/+]{0,39}[a-z])(?=(?:[A-Za-z/+]{0,39}\d){2})[A-Za-z\d/+]{40}(?![\w/+=.-])"
    ),
    "password hash": re.compile(r"\$(?:1|2[abxy]|5|6|y|apr1|argon2i?d?|pbkdf2-[\w-]{1,20})\$[\w./$=,+-]{16,}"),
    "Azure": re.compile(r"(?i)\bSharedAccessSignature[=:]\s?(?P<secret>[^;\s\"']+)"),
    "signed address": re.compile(r"(?i)(?<=[?&])(?:X-Amz-)?(?:sig|signature)=(?P<secret>[^&\s\"']+)"),
    "bearer": re.compile(r"(?i)\bbearer\s{1,9}(?P<secret>[\w.~+/=-]{8,})"),
    # base64, but not a word as in `basic statistics`
    "basic": re.compile(r"\b(?i:basic)\s{1,9}(?P<secret>(?![A-Z]?[a-z]+\b)[A-Za-z0-9+/]{8,}={0,2})"),
    "password in an address": re.compile(r"(?<=://)[^\s:/@]*+:(?P<secret>[^\s/]+)(?=@)"),
    "Oracle address": re.compile(r"jdbc:oracle:\w{1,20}:[^\s/:@]{1,80}/(?P<secret>[^\s@]{1,200})(?=@)"),
    "user and password of an option": re.compile(
        r"(?<![\w-])(?:-[uUa]|--(?:proxy-)?user|--auth)(?:[ \t]{1,9}|=)?\\?[\"']?"
        r"(?!\d+:\d+\b)[\w.@+%-]{1,100}:(?P<secret>[^\s\"']{1,500})"
    ),
    "password option of a client": re.compile(
        r"\b(?:(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|sshpass)\b[^\n|;]{0,200}?\s-p ?"
        r"|redis-cli\b[^\n|;]{0,200}?\s-a )(?P<secret>[^\s-][^\s]{0,200})"
    ),
    "argument of a call": re.compile(
        r"\b(?:HTTP\w{1,20}Auth|BasicAuth|basic_auth|login|set_password|SecretStr|SecretBytes|Secret)"
        r"\((?:[^()\n]{0,200},)?\s{0,20}[rbfu]?(?P<quote>[\"'])(?P<secret>(?:\\.|(?!(?P=quote))[^\\\n]){1,500})"
    ),
    ".netrc": re.compile(
        r"(?i)\b(?:machine|login|account)\s{1,20}[^\s]{1,200}\s{1,20}password\s{1,20}(?P<secret>[^\s]{1,500})"
    ),
    ".pgpass": re.compile(
        r"(?m)^[ \t]{0,20}[\w.*-]{1,200}:(?:\d{1,5}|\*):(?:\*|[A-Za-z_][\w-]{0,99}):(?:\*|[\w.-]{1,100})"
        r":(?P<secret>\S{1,500})[ \t]*$"
    ),
    "SQL": re.compile(
        r"(?i)\b(?:password|passphrase|identified\s{1,9}by)\s{1,9}"
        r"(?P<quote>[\"'])(?P<secret>(?:\\.|(?!(?P=quote))[^\\\n]){1,500})"
    ),
    "environment command": re.compile(
        r"(?m)^[ \t]{0,40}(?:%(?:set_)?env|ENV|setx|set -[xgU]{1,3})[ \t]{1,9}"
        r"(?P<name>\w{1,100})[ \t=]{1,9}(?P<secret>[^\n]{1,500})"
    ),
    "XML": re.compile(r"<(?P<name>[A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,200})?>(?P<secret>[^<>]{1,2000})</"),
    "object with name and value": re.compile(
        r"(?i)\b(?:name|key)\\?[\"']?\s?[:=]\s?\\?[\"']?(?P<name>[\w.-]{1,60})\\?[\"']?,?\s{1,40}"
        r"\\?[\"']?value\\?[\"']?\s?[:=]\s?\\?[\"']?(?P<secret>[^\s\"',}\\]{1,500})"
    ),
    "YAML block": re.compile(
        r"(?m)^(?P<indent>[ \t]{0,40})(?P<name>[\w.-]{1,60}): [|>][+-]?\n"
        r"(?P<secret>(?:(?P=indent)[ \t]{1,40}\S[^\n]*(?:\n|\Z)){1,500})"
    ),
}
"""Patterns of secrets, by what they find. Another pattern finds assignments such as `NAME = value` (`_ASSIGNED`)."""

_ASSIGNED: Final = re.compile(
    r"""
    (?<![\w.-])
    (?: (?P<flag>--?) (?P<option>\w[\w.-]{0,99}+) | (?P<bare>\w[\w.-]{0,99}+ (?:[ ]\w[\w.-]{0,59}+){0,2}) )
    (?P<closed>\\{0,3}["'`])? \]?
    (?:
      (?P<tight>=) (?![\s=])
    | \s?:[ ]?[A-Za-z_][\w.]{0,60}(?:\[[\w., |()]{0,80}\])?(?:[ ]?\|[ ]?[\w.]{1,60}){0,3}[ ]{0,4}=[ ]{0,4} (?!=)
    | [ \t]{0,20} (?:=>|[:=!]={0,2}) [ \t]{0,20}
    | (?P<comma> (?(closed)[ \t]{0,4},\s{0,20}|(?!)) )
    | [ ](?:is|was|ist|lautet|est|es)[ :]{1,3}
    | (?P<cell> [ ]{0,9}(?:->|→|\|)[ ]{0,40} | [ ]{0,9}\t[ \t]{0,40} | [ ]{2,80} )
    | (?P<gap> (?(flag)[ \t]{1,20}|(?!)) )
    )
    """,
    re.VERBOSE,
)
_QUOTED: Final = re.compile(
    r"""
    (?:(?:\w{1,40}\.)?(?:SecretStr|SecretBytes|quote|quote_plus|str|bytes|b64decode|b64encode)\(\s{0,40})?
    [rbfuRBFU]{0,2}
    (?: (?P<triple>\"\"\"|''') (?P<block>(?:\\.|(?!(?P=triple))[^\\])+)
    | (?P<quote>\\{0,3}["'`]) (?P<text>(?:(?!(?P=quote))(?:\\.|[^\\\n]))+) )
    """,
    re.VERBOSE | re.DOTALL,
)
_SCHEME: Final = re.compile(r"(?:(?:bearer|basic|token|digest|api-?key|key|negotiate|ntlm|oauth)[ \t]{1,9})?", re.I)
_LINE: Final = re.compile(r"[^\n]{1,2000}")
_HEADER_LINE: Final = re.compile(r"[^\n\"']{1,2000}")
_WHOLE_RUN: Final = re.compile(r"[^\s\"'`<>]\S{0,499}+(?=[ \t]{0,40}(?:\n|\Z)|[ \t]{1,40}[#;/\\])")
_RUN: Final = re.compile(r"[^\s;&\"'`<>\\]{1,500}")
_REST: Final = re.compile(r"[^\s\"'`<>]*")
_NUMBER: Final = re.compile(r"\d{3,}")
_BLANKS: Final = re.compile(r"[, \t\n]{0,80}")
_ENV_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]+")
_PHRASES: Final = ("phrase", "mnemonic")
_WORD: Final = re.compile(r"[^\W\d_]+(?:[-_'’][^\W\d_]+)*[.,:!?…)\]}]*")
_PLACEHOLDER: Final = re.compile(
    r"<.*|\$\{?[A-Z_][A-Z0-9_]*\}?|\$[({].*|\$\w*(?i:pass|secret|token|key)\w*|%\(.*|%[sdr]|%\w+%|[*•x.…?-]+|X+"
    r"|\{+\s?[A-Za-z_][A-Za-z_.]*(?:[\[(!:].*)?\}*|REDACTED|\[redacted\].*|\[masked.*|(?i:changeme|placeholder)"
    r"|(?i:(?:your|my|enter|insert|example)[-_ ][a-z_ -]*(?:here|pass|password|key|token|secret))"
    r"|(?i:none|null|nil|true|false|undefined|required|optional|string|str|bytes|int|integer|bool|boolean|float|object"
    r"|int64|float64|category|text|varchar|any|secretstr|secretbytes|self|yes|no|hidden|default|password|input)[?,;]?",
    re.DOTALL,
)
_CODE: Final = re.compile(
    r"[A-Za-z_]\w{0,60}(?:\.\w{1,60})*[\[(]"  # a call or a subscript
    r"|(?:self|cls|os|args|opts|options|params|config|cfg|conf|settings|env|environ|st|process|request|vault|data|event)\."
    r"|(?:await|lambda|not|f|r|b)\b(?=[ \"'])"
)
_FORMAT: Final = re.compile(r"\{[^{}]{1,200}\}|%\(\w{1,60}\)s|%s|\$\{\w{1,60}\}|\$\w{1,60}")
_SCHEMES: Final = _words("bearer basic token digest apikey api-key key")

_DIGITS: Final = re.compile(r"(?<!\d)(?<!\d\.)(?:\d[ -]?){12,18}\d(?!\.?\d)")
_ISSUERS: Final = re.compile(r"4|5[1-5]|2[2-7]|3[47]|36|38|30|6")
_PROSE: Final = _words("to on in for and or is as with at from the a an option flag argument when if")
"""If one of these words follows an option, the option is only mentioned, as in "use --password to sign in"."""
RUN_CHARS: Final = 500
"""How many characters of an unquoted value are checked. The complete value is replaced."""
_SHORTEST: Final = 8
"""Values of environment variables are redacted only if they have at least this length. Shorter values may be ordinary
words.
"""
_FOLDERS: Final = re.compile(r"[/~]|[A-Za-z]:[\\/]")


def redact(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Replace all secrets in a text.

    These are: matches of `FORMS` and `KEY_FORMS`, values that are assigned to secret names, values of environment
    variables with secret names, and numbers of payment cards.

    >>> redact("api_key = 'abc123'; card 4111 1111 1111 1111, key AKIAABCDEFGHIJKLMNOP")
    "api_key = '[redacted]'; card [redacted], key [redacted]"
    """
    # Replace the longest value first, because it may contain a shorter one.
    for name, value in sorted(environ.items(), key=lambda item: -len(item[1])):
        if len(value) >= _SHORTEST and is_secret_name(name) and not _FOLDERS.match(value):
            text = text.replace(value, HIDDEN)
    for pattern in (*KEY_FORMS.values(), *FORMS.values()):
        text = pattern.sub(_replace, text)
    text = _replace_values(text)
    return _DIGITS.sub(lambda found: HIDDEN if is_card(found[0]) else found[0], text)


def _replace(found: re.Match[str]) -> str:
    groups = found.groupdict()
    whole, secret = found[0], groups.get("secret")
    if secret is None:
        return HIDDEN
    if ("name" in groups and not is_secret_name(groups["name"])) or _is_placeholder(secret):
        return whole
    start, end = (at - found.start() for at in found.span("secret"))
    return f"{whole[:start]}{HIDDEN}{whole[end:]}"


def _replace_values(text: str) -> str:
    """Replace values that are assigned to secret names, in code, configuration, command lines, headers and prose."""
    parts, done, at = [], 0, 0
    while found := _ASSIGNED.search(text, at):
        name, at = found["option"] or found["bare"], found.end("option" if found["flag"] else "bare")
        if name != "key" and is_secret_name(name):
            for start, end in _secret_spans(text, found, name):
                parts += [text[done:start], HIDDEN]
                done = at = end
    return "".join([*parts, text[done:]])


def _secret_spans(text: str, found: re.Match[str], name: str) -> Iterable[tuple[int, int]]:
    """Yield the start and end of each secret value in an assignment."""
    at = found.end()
    if found["comma"] is not None:
        return _listed_span(text, found, at)
    if found["gap"] is not None and (found["flag"] != "--" or found["closed"]):
        return ()
    if text[at : at + 1] in ("(", "["):
        return _sequence_spans(text, at + 1)
    if quoted := _QUOTED.match(text, at):
        span = quoted.span("block" if quoted["triple"] else "text")
        value = text[slice(*span)]
        is_label = value[:1].isupper() and value.casefold() == name.casefold() != value  # as in `password = "Password"`
        closing = _is_closing(text, found.start(), span[0], value)
        return () if is_label or closing or _is_placeholder(value) else (span,)
    scheme = _SCHEME.match(text, at)
    return _bare_span(text, found, name, scheme.end() if scheme else at)


def _listed_span(text: str, found: re.Match[str], at: int) -> Iterable[tuple[int, int]]:
    """Return the span of the value after a quoted name: `("password", "x")`, `getenv("KEY", "x")`, `["--key", "x"]`."""
    before = text[max(0, found.start() - 2) : found.start()]
    if not found["closed"] or before[-1:] not in ("'", '"', "`") or " " in (found["bare"] or ""):
        return ()
    quoted = _QUOTED.match(text, at)
    number = _NUMBER.match(text, at)
    span = quoted.span("block" if quoted["triple"] else "text") if quoted else number.span() if number else (at, at)
    value = text[slice(*span)]
    sure = before[:1] == "(" or found["flag"] == "--"
    if not value or value.startswith("-") or _is_placeholder(value) or (not sure and _is_word(value)):
        return ()
    return (span,)


def _sequence_spans(text: str, at: int) -> Iterable[tuple[int, int]]:
    """Yield the spans of the quoted texts in a list, a tuple or parentheses."""
    while quoted := _QUOTED.match(text, _BLANKS.match(text, at).end()):  # type: ignore[union-attr]  # it always matches
        span = quoted.span("block" if quoted["triple"] else "text")
        if not _is_placeholder(text[slice(*span)]):
            yield span
        at = quoted.end() + len(quoted["triple"] or quoted["quote"])


def _bare_span(text: str, found: re.Match[str], name: str, at: int) -> Iterable[tuple[int, int]]:
    """Return the span of an unquoted value. A single word is a value only where the syntax requires a value."""
    folded, sure = name.casefold(), True
    line = text[max(0, found.start() - 80) : found.start()].rpartition("\n")[2]
    # Is there nothing before the name in its line, except signs of lists, quotations and comments?
    begins = found["cell"] is None and len(line) < 80 and not line.strip(" \t-*#>+\"'{,")
    is_env = found["tight"] is not None and _ENV_NAME.fullmatch(name.rpartition(" ")[2])
    if begins and (is_env or folded.endswith(_PHRASES)):
        value = _LINE.match(text, at)
    elif folded.endswith(("cookie", "cookies")) and found["tight"] is None:
        value = _HEADER_LINE.match(text, at)
    elif begins and (whole := _WHOLE_RUN.match(text, at)):
        value = whole
    else:
        value, sure = _RUN.match(text, at), False
    if value is None:
        return ()
    bare = value[0].rstrip("," if sure else ",)]}")
    end = at + len(bare)
    if not sure:
        after = text[end : end + 2]
        in_call = after[:1] == ")" or (after[:1] == "," and not after[1:].strip())
        optional = found["flag"] == "--" and found["gap"] is not None and bare not in _PROSE
        sure = optional or (found["tight"] is not None and not in_call)
    if (
        not bare
        or _is_reference(bare, name)
        or (name == "PWD" and _FOLDERS.match(bare))
        or (not sure and _is_word(bare))
    ):
        return ()
    rest = _REST.match(text, end) if len(bare) >= RUN_CHARS - 1 else None
    return ((at, rest.end() if rest else end),)


def _is_placeholder(value: str) -> bool:
    """Return True if the value only stands in for a secret, such as `<password>`, `${TOKEN}`, `***` or `str`."""
    if _PLACEHOLDER.fullmatch(value):
        return True
    rest = _FORMAT.sub("", value[:RUN_CHARS])
    return rest != value and rest.strip(" :").casefold() in _SCHEMES


def _is_closing(text: str, name_at: int, at: int, value: str) -> bool:
    """Return True if the quotation mark before `at` ends the text with the name, as in `getpass("Password: ")`."""
    quote, line = text[at - 1], text[max(0, name_at - 200) : at - 1].rpartition("\n")[2]
    marks = re.findall(rf"(?<!\w){quote}|{quote}(?!\w)", line)
    return len(marks) % 2 == 1 and value[0] in " ),+]}:;.%"


def _is_reference(value: str, name: str) -> bool:
    """Return True if an unquoted value is code: a variable, an attribute or a call."""
    if _is_placeholder(value) or _CODE.match(value) or value.casefold() == name.casefold():
        return True
    return value.isidentifier() and "_" in value and is_secret_name(value)


def _is_word(value: str) -> bool:
    """Return True if a value may be a word of prose, or the name of a variable."""
    return _WORD.fullmatch(value) is not None and (value.islower() or value.istitle() or value.isupper())


def is_card(number: str) -> bool:
    """Return True if the digits, with blanks or dashes between them, have a payment card's prefix and check digit.

    >>> is_card("4111-1111-1111-1111"), is_card("4111111111111112")
    (True, False)
    """
    digits = [int(char) for char in number if char.isdigit()]
    if not _ISSUERS.match("".join(map(str, digits))):
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
