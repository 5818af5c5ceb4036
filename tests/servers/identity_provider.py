"""A real identity provider in a process of its own: allauth's, with two people who sign in at once.

`python -m tests.servers.identity_provider PORT CALLBACK` prints a line once it listens.
"""

import sys
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings

CLIENT, SECRET = "holdfast", "of-the-site-and-the-provider"
READY = "ready"
PEOPLE = {"ada": "ada@elsewhere.example", "alice": "alice@example.org"}


def configure() -> None:
    """Settings of a site that is nothing but a provider."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    settings.configure(
        SECRET_KEY="of-the-provider",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="tests.servers.identity_provider",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "django.contrib.messages",
            "allauth",
            "allauth.account",
            "allauth.idp.oidc",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "allauth.account.middleware.AccountMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
            }
        ],
        IDP_OIDC_PRIVATE_KEY=key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ).decode(),
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
    )
    django.setup()


class Quiet(WSGIRequestHandler):
    """Requests are not written to the test's output."""

    def log_message(self, *args: Any) -> None:
        return


def main(port: int, callback: str) -> None:
    """Make tables, people and the one client, and answer until the end."""
    configure()
    from allauth.account.models import EmailAddress
    from allauth.idp.oidc.models import Client
    from django.contrib.auth import login
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpRequest, HttpResponse
    from django.urls import include, path

    def be(request: HttpRequest, name: str) -> HttpResponse:
        login(request, User.objects.get(username=name))  # type: ignore[arg-type]  # of that site
        return HttpResponse()

    urlpatterns.extend(
        [
            path("be/<slug:name>/", be),
            path("account/", include("allauth.account.urls")),
            path("", include("allauth.idp.urls")),
        ]
    )
    call_command("migrate", verbosity=0)
    for name, email in PEOPLE.items():
        person = User.objects.create_user(name, email)
        EmailAddress.objects.create(user=person, email=email, verified=True, primary=True)
    client = Client(id=CLIENT, name="Holdfast", skip_consent=True)
    client.set_secret(SECRET)
    client.set_redirect_uris([callback])
    client.set_scopes(["openid", "profile", "email"])
    client.set_default_scopes(["openid"])
    client.set_grant_types([Client.GrantType.AUTHORIZATION_CODE])
    client.set_response_types([Client.ResponseType.CODE])
    client.save()
    server = make_server("127.0.0.1", port, get_wsgi_application(), handler_class=Quiet)
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    server.serve_forever()


urlpatterns: list[Any] = []

if __name__ == "__main__":
    sys.modules["tests.servers.identity_provider"] = sys.modules[__name__]
    main(int(sys.argv[1]), sys.argv[2])
