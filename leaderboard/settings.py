"""Every setting of the server. The environment is parsed strictly; nothing has a default secret.

docs/settings.md lists them and what they are for. With no environment at all the settings are those
of an embedded start: SQLite and files below `VAR_DIR`, a Redis on this machine. `SITE_URL` decides
the rest: an https address turns on secure cookies, HSTS and redirects.
"""

import logging
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environs import Env, ValidationError, validate
from whitenoise.compress import Compressor

from scoring.transparency.notes import COSIGNATURE, Verifier


class _Environment(Env):
    """The environment, where an empty value counts as none: Docker Compose passes those on."""

    def _get_value(self, env_key: str, default: Any) -> Any:
        value = super()._get_value(env_key, default)
        return default if value == "" else value


env = _Environment()
BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR: Path = env.path("VAR_DIR", BASE_DIR / "var")


def _generated(name: str) -> str:
    """Return what an embedded start wrote below VAR_DIR, or nothing."""
    path = VAR_DIR / name
    return path.read_text().strip() if path.is_file() else ""


def _is_redis(url: str) -> None:
    """Refuse what is no address of a Redis server; nothing means the default."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"redis", "rediss"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none
        sound = False
    if url and not sound:
        raise ValidationError("not an address like redis://user:password@host:6379/0")


def _page_rate(name: str, default: str) -> str:
    """Return a rate for each address as allauth writes it: "100/min" is "100/m/ip"."""
    rate: str = env.str(name, default, validate=validate.Regexp(r"[0-9]+/[smhd][a-z]*\Z"))
    amount, _, period = rate.partition("/")
    return f"{amount}/{period[0]}/ip"


def _secret(name: str) -> tuple[str, str, str]:
    """Return where a secret is: its file, itself, or the command that prints it."""
    given: list[str] = [env.str(each, "") for each in (f"{name}_FILE", name, f"{name}_COMMAND")]
    if sum(map(bool, given)) > 1:
        raise ValidationError(f"{name}_FILE, {name} and {name}_COMMAND: set one of them")
    file, value, command = given
    return file, value, command


def _provider(prefix: str, **app: Any) -> list[dict[str, Any]]:
    """Return the app at an identity provider, none where no id is set. An id needs its secret."""
    client_id: str = env.str(f"{prefix}_CLIENT_ID", "")
    secret: str = env.str(f"{prefix}_CLIENT_SECRET", "")
    if bool(client_id) is not bool(secret):
        raise ValidationError(f"{prefix}_CLIENT_ID and {prefix}_CLIENT_SECRET are set together")
    return [{"client_id": client_id, "secret": secret, **app}] if client_id else []


def _network(text: str) -> IPv4Network | IPv6Network:
    """Return a network, like 10.1.0.0/16."""
    try:
        return ip_network(text.strip())
    except ValueError:
        raise ValidationError(
            f"WEBHOOK_NETWORKS: {text} is not a network like 10.1.0.0/16"
        ) from None


def _witness(text: str) -> str:
    """Return the key of a witness, as it was given."""
    try:
        verifier = Verifier.parse(text.strip())
    except ValueError as error:
        raise ValidationError(f"WITNESSES: {error}") from None
    if verifier.kind != COSIGNATURE:
        raise ValidationError(f"WITNESSES: {text} is not a key for cosignatures")
    return str(verifier)


DEBUG: bool = env.bool("DEBUG", False)
SECRET_KEY: str = env.str("SECRET_KEY", "") or _generated("secret_key")
SITE_URL: str = env.str(
    "SITE_URL",
    _generated("site_url") or "http://localhost:8000",
    validate=validate.URL(schemes={"http", "https"}, require_tld=False),
).rstrip("/")
SECURE = SITE_URL.startswith("https://")
ALLOWED_HOSTS: list[str] = env.list(
    "ALLOWED_HOSTS", [urlsplit(SITE_URL).hostname or "localhost", "localhost", "127.0.0.1", "[::1]"]
)
CSRF_TRUSTED_ORIGINS = [SITE_URL]
BEHIND_PROXY: bool = env.bool("BEHIND_PROXY", False)
# Behind a proxy all requests come from one address: limits count the one that it forwards.
NUM_PROXIES: int = env.int("NUM_PROXIES", int(BEHIND_PROXY), validate=validate.Range(min=0))
ALLAUTH_TRUSTED_PROXY_COUNT = NUM_PROXIES

INSTALLED_APPS = [
    "leaderboard.apps.LeaderboardConfig",
    "leaderboard.apps.HoldfastAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "leaderboard.apps.HoldfastStaticFilesConfig",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "csp",
]

MIDDLEWARE = [
    "leaderboard.platform.access_log.RequestLogMiddleware",
    "leaderboard.platform.compression.PagesGZipMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "leaderboard.platform.addresses.NulMiddleware",
    "leaderboard.platform.uploads.UploadLimitMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "leaderboard.platform.addresses.MethodMiddleware",
    "leaderboard.web.second_factor.SecondFactorMiddleware",
]

ROOT_URLCONF = "leaderboard.urls"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- Database -------------------------------------------------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.dj_db_url("DATABASE_URL", f"sqlite:///{VAR_DIR / 'db.sqlite3'}")
}
DATABASE_POOLED: bool = env.bool("DATABASE_POOLED", False)
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # WAL lets pages read while a worker writes; IMMEDIATE takes the write lock before the first
    # read of a transaction, so that what was read is still true when it is written back.
    DATABASES["default"]["ENGINE"] = "leaderboard.platform.sqlite3"
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
else:
    # Statements that are prepared, and cursors, belong to a connection; behind a pooler that shares
    # connections between transactions, the next one may be another.
    DATABASES["default"]["OPTIONS"] = {
        **DATABASES["default"].get("OPTIONS", {}),
        "prepare_threshold": None if DATABASE_POOLED else 5,
    }
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = DATABASE_POOLED
# Connecting takes as long as a dozen short queries, on SQLite too.
DATABASES["default"]["CONN_MAX_AGE"] = env.int("DATABASE_CONN_MAX_AGE", 60)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis: Celery's broker and the throttles' counters. Nothing is lost when it is. --------------
# It is not trusted (docs/threat-model.md): each process has a user of its own, with few rights. The
# cache is the web processes' alone, under another user than the one that fills the queue.
REDIS_URL: str = (
    env.str("REDIS_URL", "", validate=_is_redis)
    or _generated("redis/worker.url")
    or "redis://localhost:6379/0"
)
REDIS_CACHE_URL: str = env.str("REDIS_CACHE_URL", "", validate=_is_redis) or REDIS_URL
CACHES = {
    "default": {
        "BACKEND": "leaderboard.platform.cache.RedisOrLocalCache",
        "LOCATION": REDIS_CACHE_URL,
        "KEY_PREFIX": "holdfast",
    }
}
SWEEP_SECONDS: float = env.float("SWEEP_SECONDS", 5, validate=validate.Range(min=0.1))
REQUEUE_SECONDS: float = env.float("REQUEUE_SECONDS", 60, validate=validate.Range(min=0.1))
# What a worker takes gives a sign of life so often; after five that failed another one takes it.
HEARTBEAT_SECONDS: float = env.float("HEARTBEAT_SECONDS", 2, validate=validate.Range(min=0.1))
# The most that any task may take.
LEASE_SECONDS: float = env.float("LEASE_SECONDS", 600, validate=validate.Range(min=0.1))
# How old the board may be that a page shows; one's own answers are always on it.
BOARD_SECONDS: float = env.float("BOARD_SECONDS", 1, validate=validate.Range(min=0))
# From how much work on, bytes times rows, a file has the queue of long ones.
LONG_FILE: float = env.float("LONG_FILE", 1e11, validate=validate.Range(min=0))
MAX_ATTEMPTS: int = env.int("MAX_ATTEMPTS", 5, validate=validate.Range(min=1))

# --- Files ----------------------------------------------------------------------------------------
# An embedded start by root makes each process a user of its own: files are for their group then.
_SHARED = VAR_DIR.is_dir() and VAR_DIR.stat().st_mode & 0o1070 == 0o1070
STORAGE_BUCKET: str = env.str("STORAGE_BUCKET", "")
STORAGE_ENDPOINT_URL: str = env.str("STORAGE_ENDPOINT_URL", "")
# Where browsers reach it: then downloads are sent there, with a signature for some minutes.
STORAGE_PUBLIC_URL: str = env.str("STORAGE_PUBLIC_URL", "")
_FILES: dict[str, Any] = (
    {
        "BACKEND": "leaderboard.platform.storage.objects.ObjectStorage",
        "OPTIONS": {
            "bucket_name": STORAGE_BUCKET,
            "endpoint_url": STORAGE_ENDPOINT_URL or None,
            "public_url": STORAGE_PUBLIC_URL,
            "default_acl": None,
            "file_overwrite": False,
        },
    }
    if STORAGE_BUCKET
    else {
        "BACKEND": "leaderboard.platform.storage.disk.DurableFileSystemStorage",
        "OPTIONS": {
            "location": VAR_DIR / "storage",
            "base_url": None,
            "file_permissions_mode": 0o660 if _SHARED else 0o600,
            "directory_permissions_mode": 0o770 if _SHARED else 0o700,
        },
    }
)
STORAGES = {
    "default": _FILES,
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
STATIC_URL = "static/"
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
# Source maps are read by developers only, and compressing them takes most of a minute.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
STATIC_ROOT: Path = env.path("STATIC_ROOT", VAR_DIR / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
MAX_UPLOAD_BYTES: int = env.int("MAX_UPLOAD_BYTES", 512_000_000, validate=validate.Range(min=1))
# How long after its head the rest of an upload may come, where the head came before the deadline;
# the finals wait as long. 0: all of it has to be there.
UPLOAD_SECONDS: int = env.int("UPLOAD_SECONDS", 300, validate=validate.Range(min=0))
# What a bundle may be, unpacked: bytes, files, and how many times as large as packed.
BUNDLE_MAX_BYTES: int = env.int("BUNDLE_MAX_BYTES", 2_000_000_000, validate=validate.Range(min=1))
BUNDLE_MAX_FILES: int = env.int("BUNDLE_MAX_FILES", 1_000, validate=validate.Range(min=1))
BUNDLE_MAX_RATIO: int = env.int("BUNDLE_MAX_RATIO", 200, validate=validate.Range(min=1))
# Public files of a new competition, which the browser sends one by one: they go to the disk.
MAX_DATA_BYTES: int = env.int("MAX_DATA_BYTES", 4_000_000_000, validate=validate.Range(min=1))

ARCHIVE_MAX_BYTES: int = env.int(
    "ARCHIVE_MAX_BYTES", 50_000_000_000, validate=validate.Range(min=1)
)

# --- Vault: the web process needs the public key, only workers the private one --------------------
VAULT_PUBLIC_KEY_FILE: Path = env.path("VAULT_PUBLIC_KEY_FILE", VAR_DIR / "vault" / "public.key")
VAULT_PRIVATE_KEY_FILE, VAULT_PRIVATE_KEY, VAULT_PRIVATE_KEY_COMMAND = _secret("VAULT_PRIVATE_KEY")
# Of open solutions that a worker process keeps in memory; a larger one is opened for each file.
VAULT_CACHE_BYTES: int = env.int("VAULT_CACHE_BYTES", 512 * 2**20, validate=validate.Range(min=0))

# --- Watermark: what a restored database must not forget; keep it out of database backups ---------
WATERMARK_DIR: Path = env.path("WATERMARK_DIR", VAR_DIR / "watermark")

# --- The public log: workers sign its heads, the web server receipts, by SECRET_KEY unless it has a
# key; within so many seconds what was accepted is under a head that is signed -------------------
LOG_KEY_FILE, LOG_KEY, LOG_KEY_COMMAND = _secret("LOG_KEY")
RECEIPT_KEY_FILE, RECEIPT_KEY, RECEIPT_KEY_COMMAND = _secret("RECEIPT_KEY")
LOG_DELAY_SECONDS: int = env.int("LOG_DELAY_SECONDS", 60, validate=validate.Range(min=1))
# Keys of witnesses whose signatures below heads are shown: name+id+base64, as they publish them.
WITNESSES: list[str] = list(map(_witness, env.list("WITNESSES", [])))

# --- Backups: best on the disk of another machine -------------------------------------------------
BACKUP_DIR: Path = env.path("BACKUP_DIR", VAR_DIR / "backups")

# --- People ---------------------------------------------------------------------------------------
AUTH_USER_MODEL = "leaderboard.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [{"NAME": "leaderboard.participate.passwords.RevokeTokens"}] + [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
ACCOUNT_FORMS = {
    "add_email": "leaderboard.web.forms.AddEmailForm",
    "signup": "leaderboard.web.forms.SignupForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION: str = env.str(
    "EMAIL_VERIFICATION", "optional", validate=validate.OneOf(["mandatory", "optional", "none"])
)
ACCOUNT_ADAPTER = "leaderboard.participate.adapters.AccountAdapter"
# Whoever joins a competition has confirmed an address, so that accounts are not free.
CONFIRM_TO_JOIN: bool = env.bool("CONFIRM_TO_JOIN", SECURE)
ACCOUNT_USERNAME_BLACKLIST = ["admin", "holdfast", "organizer", "operator"]
# A class signs up and in from one address at once; guesses of one address at one account stay few.
ACCOUNT_RATE_LIMITS = {
    "signup": _page_rate("THROTTLE_SIGNUP", "100/min"),
    "login": (_login := _page_rate("THROTTLE_LOGIN_ADDRESS", "60/min")),
    "login_failed": f"{_login},5/300s/key",
}
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Holdfast] "
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if SECURE else "http"

# Second factors. With "organizers", who runs competitions or this site does nothing without one.
SECOND_FACTOR: str = env.str(
    "SECOND_FACTOR", "optional", validate=validate.OneOf(["optional", "organizers"])
)
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Holdfast"
# Clocks differ by some seconds: the code before and the one after count as well, once each.
MFA_TOTP_TOLERANCE = 1
MFA_ADAPTER = "leaderboard.participate.codes.Adapter"
MFA_FORMS = {
    "authenticate": "leaderboard.participate.codes.CodeForm",
    "reauthenticate": "leaderboard.participate.codes.ConfirmingCodeForm",
    "add_webauthn": "leaderboard.participate.passkeys.AddForm",
    "login_webauthn": "leaderboard.participate.passkeys.LoginForm",
    "authenticate_webauthn": "leaderboard.participate.passkeys.AuthenticateForm",
    "reauthenticate_webauthn": "leaderboard.participate.passkeys.ReauthenticateForm",
}
MFA_RATE_LIMITS = {"webauthn_login": _login}
# Browsers make passkeys on https and on localhost only; allauth has to be told of the second.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not SECURE

# Identity providers. An address of theirs never opens an account that is there already: people
# choose a name of their own, and connect further providers once they are signed in.
OIDC_NAME: str = env.str("OIDC_NAME", "Single sign-on")
OIDC_URL: str = env.str("OIDC_URL", "")
_OIDC = _provider("OIDC", provider_id="sso", name=OIDC_NAME, settings={"server_url": OIDC_URL})
if bool(_OIDC) is not bool(OIDC_URL):
    raise ValidationError("OIDC_URL, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET are set together")
if OIDC_URL:
    validate.URL(
        schemes={"http", "https"},
        require_tld=False,
        error="OIDC_URL: not an address like https://id.example.org",
    )(OIDC_URL)
SOCIALACCOUNT_PROVIDERS: dict[str, dict[str, Any]] = {
    "github": {"APPS": _provider("GITHUB")},
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            *_provider(
                "GOOGLE",
                provider_id="google",
                name="Google",
                settings={"server_url": "https://accounts.google.com"},
            ),
            *_provider(
                "ORCID",
                provider_id="orcid",
                name="ORCID",
                settings={"server_url": "https://orcid.org", "scope": ["openid"]},
            ),
            *_OIDC,
        ],
    },
}
SOCIALACCOUNT_AUTO_SIGNUP = False
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

vars().update(env.dj_email_url("EMAIL_URL", "console:"))
EMAIL_TIMEOUT: int = vars()["EMAIL_TIMEOUT"] or 20
DEFAULT_FROM_EMAIL: str = env.str("DEFAULT_FROM_EMAIL", "holdfast@localhost")
SERVER_EMAIL = DEFAULT_FROM_EMAIL

# From when on somebody is told that a file has its result, as if they had gone away meanwhile.
LONG_RUN_MINUTES: int = env.int("LONG_RUN_MINUTES", 5, validate=validate.Range(min=1))

# --- Webhooks: private networks that they may be sent to, and without https -----------------------
WEBHOOK_NETWORKS: list[IPv4Network | IPv6Network] = list(
    map(_network, env.list("WEBHOOK_NETWORKS", []))
)

# --- API ------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "leaderboard.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "leaderboard.api.authentication.ScopeGranted",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "leaderboard.api.schema.Schema",
    "EXCEPTION_HANDLER": "leaderboard.api.problems.exception_handler",
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "rest_framework.throttling.UserRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {
        "anon": env.str("THROTTLE_ANON", "120/min"),
        "user": env.str("THROTTLE_USER", "600/min"),
        "login": env.str("THROTTLE_LOGIN", "10/min"),
        "login_address": env.str("THROTTLE_LOGIN_ADDRESS", "60/min"),
        "upload": env.str("THROTTLE_UPLOAD", "60/min"),
        "upload_address": env.str("THROTTLE_UPLOAD_ADDRESS", "600/min"),
        "token": env.str("THROTTLE_TOKEN", "20/hour"),
        "compare": env.str("THROTTLE_COMPARE", "20/min"),
        "join_code": env.str("THROTTLE_JOIN_CODE", "10/min"),
    },
    "NUM_PROXIES": NUM_PROXIES,
}
TOKEN_DAYS: int = env.int("TOKEN_DAYS", 90, validate=validate.Range(min=1))
# The prefix lets secret scanners find a token that was published by mistake.
REST_KNOX = {"TOKEN_TTL": timedelta(days=TOKEN_DAYS), "TOKEN_PREFIX": "holdfast_"}
SPECTACULAR_SETTINGS = {
    "TITLE": "Holdfast API",
    "VERSION": "1",
    "DESCRIPTION": (
        "Competitions, files, leaderboards and submissions: all that the pages show and do for "
        "participants, and below `organize/` for organizers. Errors are problem documents (RFC "
        "9457) with a stable `code`."
    ),
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "leaderboard.api.schema.describe_paths",
    ],
    "SORT_OPERATIONS": False,
    "ENUM_NAME_OVERRIDES": {
        "ColumnKind": "scoring.predictions.schema.KINDS",
        "EventKind": "leaderboard.models.EventKind",
        "FileRole": "leaderboard.models.FileRole",
        "GateKind": "leaderboard.api.serializers.gates.KINDS",
        "Phase": "leaderboard.models.Phase",
        "Role": "leaderboard.models.Role",
        "Status": "leaderboard.models.Status",
    },
    "TAGS": [
        {"name": "account", "description": "Tokens, and who is signed in."},
        {"name": "competitions", "description": "What there is to see, mostly without account."},
        {"name": "teams", "description": "Joining, and your team."},
        {
            "name": "campaigns",
            "description": "Submissions under a name, with a limit.",
        },
        {"name": "submissions", "description": "Sending predictions and what became of them."},
        {"name": "gates", "description": "Yes-or-no questions of programs, fixed beforehand."},
        {"name": "finals", "description": "The end: what teams enter, and the final scores."},
        {"name": "organize", "description": "Running competitions, with the scope `organize`."},
    ],
}

# --- Celery: messages carry ids only, nothing is returned -----------------------------------------
CELERY_BROKER_URL = REDIS_URL
CELERY_ACCEPT_CONTENT = CELERY_RESULT_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = CELERY_EVENT_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_TIME_LIMIT = LEASE_SECONDS
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY: int = env.int("WORKER_CONCURRENCY", 2, validate=validate.Range(min=1))
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# How long a killed process of a worker may still have an answer on its way; then its message is
# delivered again. Nothing is done twice.
CELERY_WORKER_LOST_WAIT = 1
# Celery closes connections after each task, and SQLite reads the schema again at each new one. Here
# they are kept as long as those of requests (leaderboard/celery.py).
CELERY_DB_REUSE_MAX = 2**62  # tasks
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": max(60, 2 * LEASE_SECONDS),
    "socket_connect_timeout": 1,
    # A broker that hangs must not hold an upload. Workers wait for messages a second at a time.
    "socket_timeout": 3,
    "priority_steps": [0],  # one queue, so one key
    # Nor may one that is away: the sweeper sends what an upload could not.
    "max_retries": 0,
}
# One sweep does what several would: those that no worker took in time are dropped, not piled up.
CELERY_BEAT_SCHEDULE = {
    "sweep": {
        "task": "leaderboard.tasks.sweep",
        "schedule": SWEEP_SECONDS,
        "options": {"expires": 60 + SWEEP_SECONDS},
    }
}
# Without the file of pickles in which beat keeps its place: the sweep is due at once after a start.
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"

# --- Web security ---------------------------------------------------------------------------------
SESSION_ENGINE = "leaderboard.platform.sessions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_SSL_REDIRECT = SECURE
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- Whom to tell of a weakness, as https or mailto addresses: security.txt -----------------------
SECURITY_CONTACT: list[str] = env.list("SECURITY_CONTACT", [])

# --- Operators ------------------------------------------------------------------------------------
# Who reads /metrics. Without one, only this machine may where no proxy stands in front.
METRICS_TOKEN: str = env.str("METRICS_TOKEN", "")

# --- Language, time, logs -------------------------------------------------------------------------
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["leaderboard.platform.formats"]

# Lines are for a person who looks on, JSON for what collects the logs of servers.
LOG_FORMAT: str = env.str(
    "LOG_FORMAT", "json" if SECURE else "line", validate=validate.OneOf(["json", "line"])
)
LOGGING_CONFIG = "leaderboard.platform.logs.configure"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "leaderboard.platform.logs.JsonFormatter"},
        "line": {"()": "leaderboard.platform.logs.LineFormatter"},
    },
    "filters": {"unexpected": {"()": "leaderboard.platform.logs.Unexpected"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": env.log_level("LOG_LEVEL", logging.INFO)},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # A line for each request; nobody who looks on wants them.
        "leaderboard.access": {"level": "NOTSET" if LOG_FORMAT == "json" else "WARNING"},
        # What the access log says of a request that was refused, it says once.
        "django.request": {
            "level": "ERROR" if LOG_FORMAT == "json" else "WARNING",
            "filters": ["unexpected"],
        },
        # gunicorn sets up its own before it loads the site.
        "gunicorn.error": {"handlers": ["stderr"], "propagate": False},
        # What waits for a thread waits; that clients go away is their business.
        "waitress": {"level": "WARNING"},
        "waitress.queue": {"level": "ERROR"},
        # The sweeper runs every few seconds; what becomes of a submission is said by the tasks.
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
    },
}
