"""HTTP: one request, one plain reason when it fails. The only module that uses httpx to talk."""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePath
from typing import IO, Any, Self
from urllib.parse import quote

import httpx

from holdfast import __version__
from holdfast.config import Settings
from holdfast.errors import Failure, Refused, TooLong, Unreachable

Json = dict[str, Any]
TIMEOUT = httpx.Timeout(60, connect=10)
PAGE_SIZE = 200  # the most that the server gives at once
LONGEST_JSON = 64 * 2**20  # bytes: a hundred times what a page of a list has
SIGN_IN = "Run `holdfast login`, or set HOLDFAST_TOKEN."


def transport() -> httpx.BaseTransport | None:
    """The way to the network; None is httpx's own. Tests put theirs here."""
    return None


class Client:
    """A server's API v1, as one account. Use it as a context manager."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        headers = {
            "User-Agent": f"holdfast/{__version__}",
            "Accept": "application/json",
            # Sizes are limited, and places in a file counted, in bytes of the plain content.
            "Accept-Encoding": "identity",
        }
        if settings.token:
            headers["Authorization"] = f"Token {settings.token}"
        self._http = httpx.Client(
            base_url=f"{settings.url}/api/v1/",
            headers=headers,
            timeout=TIMEOUT,
            transport=transport(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **params: str | int) -> Json:
        """The JSON object at the path."""
        return self._json("GET", path, params=params)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> Json:
        """Send a JSON object; the answer, which is empty for 204."""
        return self._json("POST", path, json=dict(body or {}))

    def patch(self, path: str, body: Mapping[str, object]) -> Json:
        """Change what the body names; the answer."""
        return self._json("PATCH", path, json=dict(body))

    def put(self, path: str, body: Mapping[str, object]) -> Json:
        """Put this in the place of what is there; the answer."""
        return self._json("PUT", path, json=dict(body))

    def upload(self, path: str, file: IO[bytes], name: str, fields: Mapping[str, str]) -> Json:
        """Send a form with one file, streamed as it is read."""
        files = {"file": (PurePath(name).name, file, "text/csv")}
        return self._json("POST", path, data=dict(fields), files=files)

    def every(self, path: str, **params: str | int) -> Iterator[Json]:
        """All rows of a paged list, asked for page by page."""
        page = 1
        while True:
            answer = self.get(path, **params, page=page, page_size=PAGE_SIZE)
            yield from answer["results"]
            if not answer["results"] or not answer.get("next"):
                return
            page += 1

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str] | None = None, **params: str | int
    ) -> Iterator[httpx.Response]:
        """An answer whose body is not read yet; Refused unless it is a success."""
        sent = {"Accept": "*/*", **(headers or {})}
        with self._answer("GET", path, headers=sent, params=params) as response:
            if not response.is_success:
                raise _refusal(_whole(response), self.settings)
            yield response

    def save(self, path: str, target: Path, limit: int, **params: str | int) -> None:
        """Write what is at the path to a file, of at most `limit` bytes; TooLong beyond."""
        with self.stream(path, None, **params) as response, target.open("wb") as file:
            write(response, file, limit)

    @contextmanager
    def _answer(self, method: str, path: str, **arguments: Any) -> Iterator[httpx.Response]:
        with _reasons(self.settings.url):
            request = self._http.build_request(method, path, **arguments)
            response = self._http.send(request, stream=True)
            try:
                _check_encoding(response, self.settings.url)
                yield response
            finally:
                response.close()

    def _json(self, method: str, path: str, **arguments: Any) -> Json:
        with self._answer(method, path, **arguments) as open_response:
            response = _whole(open_response)
        if not response.is_success:
            raise _refusal(response, self.settings)
        if response.status_code == httpx.codes.NO_CONTENT:
            return {}
        return _object(response, self.settings.url)


def write(
    response: httpx.Response,
    file: IO[bytes],
    limit: int,
    advance: Callable[[int], object] = lambda count: None,
) -> None:
    """Copy a body of at most `limit` bytes as it comes; TooLong as soon as there are more."""
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise TooLong(limit)
    left = limit
    for chunk in response.iter_bytes():
        left -= len(chunk)
        if left < 0:
            raise TooLong(limit)
        file.write(chunk)
        advance(len(chunk))


def _whole(response: httpx.Response) -> httpx.Response:
    """The answer with its body in memory, where it is not too long for that."""
    body = BytesIO()
    write(response, body, LONGEST_JSON)
    headers = {
        name: value
        for name, value in response.headers.items()
        if name not in ("content-encoding", "content-length", "transfer-encoding")
    }
    return httpx.Response(response.status_code, headers=headers, content=body.getvalue())


def _check_encoding(response: httpx.Response, url: str) -> None:
    """A little that was compressed several times, or by other means, can become any amount."""
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise Unreachable(
            f"{url} compressed its answer as {encoding!r}, though it was asked not to.",
            hint="Is there a proxy in between that should not do this?",
        )


def competition_path(slug: str, *rest: str | int) -> str:
    """The API's path below a competition, each part quoted."""
    parts = ("competitions", slug, *rest)
    return "".join(f"{quote(str(part), safe='')}/" for part in parts)


@contextmanager
def _reasons(url: str) -> Iterator[None]:
    """Turn what httpx raises into a plain reason and what to do about it."""
    try:
        yield
    except httpx.ConnectTimeout:
        raise Unreachable(f"{url} did not answer in time.", hint=_CHECK_ADDRESS) from None
    except httpx.TimeoutException:
        raise Unreachable(
            f"{url} took too long to answer.",
            hint="What was sent may have arrived: look before you send it again.",
        ) from None
    except httpx.ProxyError as error:
        raise Unreachable(
            f"The proxy in between failed: {error}.",
            hint="Check the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY.",
        ) from None
    except httpx.ConnectError as error:
        raise _no_connection(url, error) from None
    except httpx.RequestError as error:
        raise Unreachable(
            f"The connection to {url} broke: {str(error) or type(error).__name__}.",
            hint="What was sent may have arrived: look before you send it again.",
        ) from None


_CHECK_ADDRESS = "Check the address and your network; `holdfast login --url URL` changes it."


def _no_connection(url: str, error: httpx.ConnectError) -> Failure:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Unreachable(
            f"The certificate of {url} cannot be trusted: {cause.verify_message}.",
            hint="If your organization signs its own, set SSL_CERT_FILE to its CA file.",
        )
    if cause is not None:
        return Unreachable(
            f"{url} does not speak TLS as it should: {cause}.", hint="Is it http, not https?"
        )
    reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error))
    return Unreachable(f"Cannot connect to {url}: {reason}.", hint=_CHECK_ADDRESS)


def _object(response: httpx.Response, url: str) -> Json:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise _not_holdfast(response, url)
    return body


def _not_holdfast(response: httpx.Response, url: str) -> Unreachable:
    kind = response.headers.get("content-type", "").partition(";")[0]
    what = "a web page" if kind == "text/html" else kind or "nothing"
    return Unreachable(
        f"{url} answered {response.status_code} with {what}, not as a Holdfast server does.",
        hint=_CHECK_ADDRESS,
    )


def _refusal(response: httpx.Response, settings: Settings) -> Failure:
    """The server's reason: its problem document, or what the bare status says."""
    if response.is_redirect:
        target = response.headers.get("location", "elsewhere")
        return Unreachable(
            f"{settings.url} sends on to {target}.",
            hint="If that is the server's address, run `holdfast login --url` with it.",
        )
    if response.status_code in (502, 503, 504) and not _is_problem(response):
        return Unreachable(
            f"{settings.url} is not available just now ({response.status_code}).",
            hint="Try again in a minute.",
        )
    if not _is_problem(response):
        return _not_holdfast(response, settings.url)
    problem = _object(response, settings.url)
    return Refused(
        str(problem.get("detail") or problem.get("title") or "The server refused."),
        status=response.status_code,
        code=str(problem.get("code", "")),
        details=problem_lines(problem.get("errors"), problem.get("total")),
        hint=_hint(response.status_code, str(problem.get("code")), settings),
        retry_after=_seconds(response.headers.get("retry-after")),
    )


def _is_problem(response: httpx.Response) -> bool:
    kind: str = response.headers.get("content-type", "")
    return kind.startswith("application/problem+json")


def _hint(status: int, code: str, settings: Settings) -> str:
    """What to do about it on the command line."""
    if code in ("rules_not_accepted", "not_a_member"):
        return "Here: `holdfast join COMP`."
    if status != httpx.codes.UNAUTHORIZED:
        return ""
    if not settings.token:
        return SIGN_IN
    return f"The token may have expired or been revoked. {SIGN_IN}"


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdigit() else None


def problem_lines(problems: Any, total: Any = None) -> list[str]:
    """Single problems, one line each: where, then what; and how many there are in all."""
    known = [item for item in problems or [] if isinstance(item, dict)]
    lines = [_problem_line(item) for item in known]
    if int(total or 0) > len(known):
        lines.append(f"{int(total):,} in all.")
    return lines


def _problem_line(problem: Mapping[str, Any]) -> str:
    line, column = problem.get("line"), problem.get("column")
    places = [f"line {line}"] if line is not None else []
    places += [f"column `{column}`"] if column else []
    where = ", ".join(places)
    message = str(problem.get("message", ""))
    if not where or message.lower().startswith(places[0]):
        return message
    return f"{where[0].upper()}{where[1:]}: {message}"
