"""docs/settings.md: every setting, read from settings.py, with what it is for.

`python -m leaderboard.operate.settings_page > docs/settings.md` writes it again; a test compares.
"""

import ast
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]

# Names that are read elsewhere than in settings.py: the name, its kind and its default.
ELSEWHERE: Final = (
    ("WEB_CONCURRENCY", "int", "2"),
    ("AWS_ACCESS_KEY_ID", "str", ""),
    ("AWS_SECRET_ACCESS_KEY", "str", ""),
)
KINDS: Final = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "`true` or `false`",
    "path": "path",
    "list": "list, by commas",
    "log_level": "level",
    "dj_db_url": "address",
    "dj_email_url": "address",
    "_page_rate": "rate",
}
# What is given out of settings.py by a rule that a table can't show.
DEFAULTS: Final = {
    "SECRET_KEY": "drawn by an embedded start",
    "SITE_URL": "`http://localhost:8000`",
    "ALLOWED_HOSTS": "the host of `SITE_URL`, this machine",
    "NUM_PROXIES": "1 with `BEHIND_PROXY`, else 0",
    "REDIS_URL": "the embedded start's, or `redis://localhost:6379/0`",
    "REDIS_CACHE_URL": "`REDIS_URL`",
    "RECEIPT_KEY_FILE": "made from `SECRET_KEY`",
    "CONFIRM_TO_JOIN": "`true` with https",
    "LOG_FORMAT": "`json` with https, else `line`",
    "LOG_LEVEL": "`INFO`",
}
MEANING: Final = {
    "VAR_DIR": "Where an embedded start keeps everything, and others what isn't put elsewhere.",
    "DEBUG": "Django's debug pages, which show code and settings: never where others come.",
    "SECRET_KEY": "Signs sessions and links, and encrypts second factors. Backups don't have it.",
    "SITE_URL": "The address that people use. https turns on secure cookies, HSTS and redirects.",
    "ALLOWED_HOSTS": "Names under which the site may be asked for.",
    "BEHIND_PROXY": "A proxy in front sets `X-Forwarded-Proto` and `X-Forwarded-For`.",
    "NUM_PROXIES": "How many proxies stand in front: limits count the address that they forward.",
    "DATABASE_URL": "PostgreSQL, or the SQLite file of an embedded start.",
    "DATABASE_POOLED": "PostgreSQL is reached through a pooler that shares connections between "
    "transactions: no statement is prepared there, which makes each a little dearer.",
    "DATABASE_CONN_MAX_AGE": "Seconds that a connection to the database is kept.",
    "REDIS_URL": "Redis, as this kind of process knows it (user and password).",
    "REDIS_CACHE_URL": "Redis, as the web processes' cache knows it.",
    "SWEEP_SECONDS": "How often the sweeper looks for work without a message.",
    "REQUEUE_SECONDS": (
        "How long a message may be on its way before it is sent again; `SWEEP_SECONDS`, once "
        "workers have taken all others."
    ),
    "BOARD_SECONDS": "How old the board on a page may be. One's own newest answer is always there.",
    "LEASE_SECONDS": "How long a worker may hold a submission, and a task may take.",
    "HEARTBEAT_SECONDS": "How often a worker says that it lives; a dead one is soon relieved.",
    "LONG_FILE": "From how much work on a file goes to the queue of long ones.",
    "UPLOAD_SECONDS": "How long after its first bytes the rest of an upload may come.",
    "MAX_ATTEMPTS": "After how many dead workers a submission fails.",
    "STORAGE_BUCKET": "A bucket of S3-compatible storage for files; without it they are on disk.",
    "STORAGE_ENDPOINT_URL": "Its address, unless it is Amazon's.",
    "STORAGE_PUBLIC_URL": "Where browsers reach it; downloads then go there, by signed addresses.",
    "AWS_ACCESS_KEY_ID": "The bucket's key.",
    "AWS_SECRET_ACCESS_KEY": "And its secret.",
    "STATIC_ROOT": "Where static files are collected.",
    "MAX_UPLOAD_BYTES": "The largest prediction file; competitions can set less.",
    "BUNDLE_MAX_BYTES": "The largest bundle, unpacked.",
    "BUNDLE_MAX_FILES": "The most files in a bundle.",
    "BUNDLE_MAX_RATIO": "How many times as large as packed a bundle may be.",
    "MAX_DATA_BYTES": "The largest public file of a competition.",
    "ARCHIVE_MAX_BYTES": "The largest archive that is imported, unpacked.",
    "VAULT_PUBLIC_KEY_FILE": "The public key, with which solutions are sealed.",
    "VAULT_PRIVATE_KEY_FILE": "The private key's file: in workers only, as all of this key.",
    "VAULT_PRIVATE_KEY": "Or the key itself.",
    "VAULT_PRIVATE_KEY_COMMAND": "Or a command that prints it.",
    "VAULT_CACHE_BYTES": "Of open solutions that a worker process keeps in memory.",
    "WATERMARK_DIR": "What a restored database must not forget; no disk of the database's backups.",
    "LOG_KEY_FILE": "The file of the key that signs heads of logs: set it in workers only.",
    "LOG_KEY": "Or the key itself.",
    "LOG_KEY_COMMAND": "Or a command that prints it.",
    "RECEIPT_KEY_FILE": "The file of the key that signs receipts.",
    "RECEIPT_KEY": "Or the key itself.",
    "RECEIPT_KEY_COMMAND": "Or a command that prints it.",
    "LOG_DELAY_SECONDS": "How soon what was accepted is under a signed head, as receipts promise.",
    "WITNESSES": "Public keys of witnesses whose signatures below heads are shown.",
    "BACKUP_DIR": "Where `manage.py backup` writes; best on another machine's disk.",
    "CONFIRM_TO_JOIN": "Whoever joins a competition confirms a mail address first.",
    "EMAIL_VERIFICATION": "Whether an address is confirmed: `mandatory`, `optional`, `none`.",
    "THROTTLE_SIGNUP": "Sign-ups from one address; raise it for a large class behind one.",
    "THROTTLE_LOGIN_ADDRESS": "Sign-ins from one address.",
    "SECOND_FACTOR": "`organizers` asks whoever runs competitions for one; else `optional`.",
    "OIDC_NAME": "What stands on the button of an OpenID Connect provider.",
    "OIDC_URL": "Its issuer.",
    "OIDC_CLIENT_ID": "This site's id there.",
    "OIDC_CLIENT_SECRET": "And its secret.",
    "GITHUB_CLIENT_ID": "The id of an OAuth app at GitHub.",
    "GITHUB_CLIENT_SECRET": "And its secret.",
    "GOOGLE_CLIENT_ID": "The id of an app at Google.",
    "GOOGLE_CLIENT_SECRET": "And its secret.",
    "ORCID_CLIENT_ID": "The id of an app at ORCID.",
    "ORCID_CLIENT_SECRET": "And its secret.",
    "EMAIL_URL": "The mail server, `smtp+tls://user:password@host:587`; `console:` prints mails.",
    "DEFAULT_FROM_EMAIL": "Who mails come from.",
    "LONG_RUN_MINUTES": "From when on somebody is told that a file has its result.",
    "WEBHOOK_NETWORKS": "Private networks that webhooks may be sent to, also without https.",
    "THROTTLE_ANON": "API requests from one address without a token.",
    "THROTTLE_USER": "API requests of one account.",
    "THROTTLE_LOGIN": "Guesses at one account's password, by API.",
    "THROTTLE_UPLOAD": "Uploads of one account.",
    "THROTTLE_UPLOAD_ADDRESS": "Uploads from one address.",
    "THROTTLE_TOKEN": "API tokens that one account makes.",
    "THROTTLE_COMPARE": "Comparisons of submissions that one account asks for.",
    "THROTTLE_JOIN_CODE": "Tries of a join code.",
    "TOKEN_DAYS": "How long an API token holds.",
    "WORKER_CONCURRENCY": "How many submissions a worker scores at once.",
    "WEB_CONCURRENCY": "Processes of a web server, of four threads each.",
    "SECURITY_CONTACT": "Whom to tell of a weakness, as https or mailto addresses: `security.txt`.",
    "METRICS_TOKEN": "Who has it may read `/metrics`; without one, only this machine may.",
    "LOG_FORMAT": "`json` for what collects logs, `line` for a person who looks on.",
    "LOG_LEVEL": "From which level on lines are written.",
}

_OPERATORS: Final[dict[type[ast.operator], Any]] = {
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.Add: operator.add,
    ast.LShift: operator.lshift,
}


def names() -> list[str]:
    """Return every setting's name, as settings.py has them in order."""
    return [name for name, _, _ in _settings()]


def page() -> str:
    """Return the page as Markdown. Raises KeyError for a setting that nobody has described."""
    rows = [
        f"| `{name}` | {KINDS[kind]} | {DEFAULTS.get(name) or (f'`{default}`' if default else '')} "
        f"| {MEANING[name]} |"
        for name, kind, default in _settings()
    ]
    return "\n".join([_HEAD, *rows, ""])


_HEAD: Final = """# Settings

<!-- Written by `python -m leaderboard.operate.settings_page`; a test compares. -->

All settings come from the environment: `.env` of Docker Compose, `/etc/holdfast/environment` of
the [units of systemd](without-docker.md), the shell of `make run`. A value that can't be understood
stops the start and is named; an empty one counts as not set. [operations.md](operations.md) tells
more of most. Nothing secret has a default.

A rate is a number and a period, like `60/min` (`s`, `min`, `hour`, `day`). Docker Compose sets
addresses of its own services (`DATABASE_URL`, `REDIS_URL`) itself, and where its volumes are.

| setting | kind | default | what for |
|---|---|---|---|"""


def _settings() -> Iterator[tuple[str, str, str]]:
    """Yield name, kind and default of what settings.py reads, and of what is read elsewhere."""
    seen = set[str]()
    tree = ast.parse((ROOT / "leaderboard" / "settings.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    for call in sorted(calls, key=lambda node: node.lineno):
        first, kind = call.args[0], _kind(call.func)
        if not kind or not isinstance(first, ast.Constant):
            continue
        default = _text(call.args[1]) if len(call.args) > 1 else ""
        name = str(first.value)
        found = [(name, kind, default)]
        if kind == "_secret":
            forms = (f"{name}_FILE", name, f"{name}_COMMAND")
            found = [(each, "str", "") for each in forms]
        if kind == "_provider":
            found = [(f"{name}_CLIENT_{each}", "str", "") for each in ("ID", "SECRET")]
        for each in found:
            if each[0] not in seen:
                seen.add(each[0])
                yield each
    yield from ELSEWHERE


def _kind(function: ast.expr) -> str:
    """Return the method of `env`, or the function of settings.py, that reads a setting."""
    if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "env":
        return function.attr
    name = ast.unparse(function)
    return name if name in {"_page_rate", "_provider", "_secret"} else ""


def _text(default: ast.expr) -> str:
    """Return a default as people write it."""
    if isinstance(default, ast.Constant):
        value = default.value
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(default, ast.BinOp) and isinstance(default.op, ast.Div):
        return f"{_text(default.left)}/{_text(default.right)}"
    if isinstance(default, ast.BinOp):
        return str(_number(default))
    if isinstance(default, ast.JoinedStr):
        return "".join(map(_text, default.values))
    if isinstance(default, ast.FormattedValue):
        return _text(default.value)
    if isinstance(default, ast.Name):
        return {"BASE_DIR": "."}.get(default.id, default.id)
    return ""


def _number(term: ast.expr) -> Any:
    """Return what a term of numbers comes to."""
    if isinstance(term, ast.BinOp):
        return _OPERATORS[type(term.op)](_number(term.left), _number(term.right))
    return ast.literal_eval(term)


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
