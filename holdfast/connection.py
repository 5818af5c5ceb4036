"""HTTP: one request, one plain reason when it fails. No other module talks to the network."""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import quote

import httpx

from holdfast import config, output
from holdfast.config import Settings
from holdfast.errors import REFUSALS, Failure, Refused, TooLong, Unreachable

Json = dict[str, Any]
TIMEOUT = httpx.Timeout(60, connect=10)
PAGE_SIZE = 200  # the most rows that the server sends at once
SLUG = re.compile(r"[A-Za-z0-9_-]+")
LONGEST_JSON = 64_000_000  # bytes: a hundred times the largest page of a list
SIGN_IN = "Run `holdfast login`, or set HOLDFAST_TOKEN."
CHECK_ADDRESS = "Check the address and your network; `holdfast login --url URL` changes it."
MAY_HAVE_ARRIVED = "What you sent may have arrived: look before you send it again."


def transport() -> httpx.BaseTransport | None:
    """Return the way to the network, None for httpx's own. Tests replace this function."""
    return None


class Connection:
    """The API v1 of a server, used by one account. Use it as a context manager.

    base, way: another address than the settings', and how it is reached.
    """

    def __init__(
        self, settings: Settings, *, base: str = "", way: httpx.BaseTransport | None = None
    ) -> None:
        """Connect to nothing yet; the first request does."""
        self.settings = settings
        headers = {
            "User-Agent": f"holdfast/{version('holdfast')}",
            "Accept": "application/json",
            # Size limits and resumed downloads count bytes of the plain content.
            "Accept-Encoding": "identity",
        }
        if settings.token:
            headers["Authorization"] = f"Token {settings.token}"
        self._http = httpx.Client(
            base_url=f"{base or settings.url}/api/v1/",
            headers=headers,
            timeout=TIMEOUT,
            transport=way or transport(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **params: str | int) -> Json:
        return self.send("GET", path, params=params)

    def send(self, method: str, path: str, **arguments: Any) -> Json:
        """Send a request with httpx's arguments, and return the JSON object that answers it.

        The object is empty for 204. Raises Refused or Unreachable where there is none.
        """
        with self._answer(method, path, **arguments) as open_response:
            response = _read(open_response)
        if not response.is_success:
            raise self._refusal(response)
        return {} if response.status_code == httpx.codes.NO_CONTENT else self._object(response)

    def every(self, path: str, **params: str | int) -> Iterator[Json]:
        """Yield all rows of a list, page by page."""
        page = 1
        while True:
            answer = self.get(path, **params, page=page, page_size=PAGE_SIZE)
            yield from answer["results"]
            if not answer["results"] or not answer.get("next"):
                return
            page += 1

    @contextmanager
    def stream(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "GET",
        **params: str | int,
    ) -> Iterator[httpx.Response]:
        """Yield a successful response whose body is not read yet."""
        sent = {"Accept": "*/*", **(headers or {})}
        with self._answer(method, path, headers=sent, params=params) as response:
            if not response.is_success:
                raise self._refusal(_read(response))
            yield response

    def save(
        self, path: str, target: Path, limit: int, *, method: str = "GET", **params: str | int
    ) -> None:
        """Write the content at the path to a file; raise TooLong if it has over `limit` bytes.

        The file appears only once it is complete; its folder is made if needed.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        try:
            with (
                self.stream(path, None, method=method, **params) as response,
                part.open("wb") as file,
            ):
                write(response, file, limit)
        except TooLong:
            part.unlink(missing_ok=True)
            raise
        part.replace(target)

    @contextmanager
    def _answer(self, method: str, path: str, **arguments: Any) -> Iterator[httpx.Response]:
        url = self.settings.url
        try:
            request = self._http.build_request(method, path, **arguments)
            with closing(self._http.send(request, stream=True)) as response:
                # A few bytes that were compressed several times can expand to any amount.
                encoding = response.headers.get("content-encoding", "identity").lower()
                if encoding not in ("identity", "gzip"):
                    raise Unreachable(
                        f"{url} compressed its answer as {encoding!r}, though asked not to.",
                        hint="Is there a proxy in between that should not do this?",
                    )
                yield response
        except httpx.RequestError as error:
            raise _explain(url, error) from None

    def _refusal(self, response: httpx.Response) -> Failure:
        """Return the server's reason: its problem document, or what the bare status means."""
        url, status = self.settings.url, response.status_code
        if response.is_redirect:
            return Unreachable(
                f"{url} redirects to {response.headers.get('location', 'another address')}.",
                hint="If that is the server's address, run `holdfast login --url` with it.",
            )
        if not response.headers.get("content-type", "").startswith("application/problem+json"):
            if status not in (502, 503, 504):
                return self._not_holdfast(response)
            return Unreachable(
                f"{url} is not available at the moment ({status}).", hint="Try again in a minute."
            )
        problem, hint = self._object(response), ""
        if problem.get("code") in ("rules_not_accepted", "not_a_member"):
            hint = "To join, run `holdfast join COMP`."
        elif status == httpx.codes.UNAUTHORIZED:
            expired = "The token may have expired or been revoked. "
            hint = f"{expired if self.settings.token else ''}{SIGN_IN}"
        refused = REFUSALS.get(status, Refused)(
            str(problem.get("detail") or problem.get("title") or "The server refused."),
            details=problem_lines(problem.get("errors"), problem.get("total")),
            hint=hint,
        )
        seconds = response.headers.get("retry-after", "")
        refused.code = str(problem.get("code") or refused.code)
        refused.problems = _listed(problem.get("errors"))
        refused.status, refused.retry_after = status, float(seconds) if seconds.isdigit() else 0
        return refused

    def _object(self, response: httpx.Response) -> Json:
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise self._not_holdfast(response)
        return body

    def _not_holdfast(self, response: httpx.Response) -> Unreachable:
        kind = response.headers.get("content-type", "").partition(";")[0]
        what = "a web page" if kind == "text/html" else kind or "nothing"
        return Unreachable(
            f"{self.settings.url} answered {response.status_code} with {what}, "
            "not as a Holdfast server does.",
            hint=CHECK_ADDRESS,
        )


def connect(url: str = "", token: str = "") -> Connection:
    """Return a connection to the server and account that are given or, where left out, that
    environment and configuration name.
    """
    settings = config.current(url, token)
    path = config.config_path()
    if config.readable_by_others(path):
        output.warn(f"{path} holds your token and others can read it: run `chmod 600 {path}`.")
    return Connection(settings)


def write(
    response: httpx.Response,
    file: IO[bytes],
    limit: int,
    advance: Callable[[int], object] = lambda count: None,
) -> None:
    """Copy a body as it arrives; raise TooLong as soon as it has more than `limit` bytes."""
    announced = response.headers.get("content-length", "")
    too_long = TooLong(f"The server sends more than {output.size(limit)} where it should not.")
    if announced.isdecimal() and int(announced) > limit:
        raise too_long
    left = limit
    for chunk in response.iter_bytes():
        left -= len(chunk)
        if left < 0:
            raise too_long
        file.write(chunk)
        advance(len(chunk))


def _read(response: httpx.Response) -> httpx.Response:
    """Return the response with its body in memory; raise TooLong if it doesn't belong there."""
    body = BytesIO()
    write(response, body, LONGEST_JSON)
    dropped = ("content-encoding", "content-length", "transfer-encoding")
    headers = {name: value for name, value in response.headers.items() if name not in dropped}
    return httpx.Response(response.status_code, headers=headers, content=body.getvalue())


def competition_path(slug: str, *rest: str | int) -> str:
    """Return the API's path below a competition, each part quoted."""
    parts = ("competitions", slug, *rest)
    return "".join(f"{quote(str(part), safe='')}/" for part in parts)


def _explain(url: str, error: httpx.RequestError) -> Unreachable:
    """Turn what httpx raised into a plain reason and what to do about it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    match error, cause:
        case httpx.ConnectTimeout(), _:
            return Unreachable(f"{url} did not answer in time.", hint=CHECK_ADDRESS)
        case httpx.TimeoutException(), _:
            return Unreachable(f"{url} took too long to answer.", hint=MAY_HAVE_ARRIVED)
        case httpx.ProxyError(), _:
            return Unreachable(
                f"The proxy in between failed: {error}.",
                hint="Check the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY.",
            )
        case httpx.ConnectError(), ssl.SSLCertVerificationError():
            return Unreachable(
                f"The certificate of {url} cannot be trusted: {cause.verify_message}.",
                hint="If your organization signs its own, set SSL_CERT_FILE to its CA file.",
            )
        case httpx.ConnectError(), ssl.SSLError():
            return Unreachable(
                f"{url} does not speak TLS correctly: {cause}.", hint="Is it http, not https?"
            )
        case httpx.ConnectError(), _:
            reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error))
            return Unreachable(f"Cannot connect to {url}: {reason}.", hint=CHECK_ADDRESS)
    broken = str(error) or type(error).__name__
    return Unreachable(f"The connection to {url} broke: {broken}.", hint=MAY_HAVE_ARRIVED)


def problem_lines(problems: Any, total: Any = None) -> list[str]:
    """Return one line for each problem: where, then what; and the total if some are left out."""
    known, lines = _listed(problems), []
    for problem in known:
        line, column = problem.get("line"), problem.get("column")
        places = [f"line {line}"] if line is not None else []
        places += [f"column `{column}`"] if column else []
        message, where = str(problem.get("message", "")), ", ".join(places)
        if where and not message.lower().startswith(places[0]):
            message = f"{where[0].upper()}{where[1:]}: {message}"
        lines.append(message)
    if int(total or 0) > len(known):
        lines.append(f"{int(total):,} in all.")
    return lines


def _listed(problems: Any) -> list[Json]:
    return [item for item in problems or [] if isinstance(item, dict)]
