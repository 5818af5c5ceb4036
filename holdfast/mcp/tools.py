"""Tools as an agent can rely on them: no argument is ignored, and each failure says what to do."""

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import ValidationError, create_model

from holdfast.errors import Failure

SHOWN = 60  # characters of a wrong value
REFUSED = "Nothing was sent or counted."


class StrictTool(Tool):
    """A tool that refuses unknown arguments and words failures for whoever called it.

    A bug stays what the SDK makes of it: the caller learns the tool's name, the log the rest.
    """

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            cause, is_bug = error.__cause__, isinstance(error, UnexpectedToolError)
            if isinstance(cause, ValidationError) and not is_bug:
                raise ToolError(self._wrong_arguments(cause)) from None
            if (text := explain(cause)) is None:
                raise
            raise ToolError(text) from None

    def _wrong_arguments(self, error: ValidationError) -> str:
        known = ", ".join(self.parameters["properties"]) or "none"
        lines = [f"{self.name} can't be called like this. {REFUSED}"]
        for each in error.errors(include_url=False, include_context=False):
            name = ".".join(map(str, each["loc"]))
            match each["type"]:
                case "extra_forbidden":
                    lines.append(f"`{name[:SHOWN]}` is no argument of it; it has: {known}.")
                case "missing":
                    lines.append(f"`{name}` is missing.")
                case _:
                    lines.append(f"`{name}`: {each['msg']}; it is {_short(each['input'])}.")
        return "\n  ".join(lines)


def tool(function: Callable[..., Any], title: str, **hints: bool) -> Tool:
    """Return a function as a tool; its docstring is what agents read about it.

    hints: those of the protocol, such as `read_only_hint`. The function raises Failure for
    whatever a caller can do something about.
    """
    made = StrictTool.from_function(
        function,
        title=title,
        description=" ".join((function.__doc__ or "").split()),
        annotations=ToolAnnotations(title=title, **hints),
    )
    loose = made.fn_metadata.arg_model
    strict = create_model(loose.__name__, __base__=loose, __cls_kwargs__={"extra": "forbid"})
    made.fn_metadata.arg_model = strict
    made.parameters = strict.model_json_schema(by_alias=True)
    return made


def explain(error: BaseException | None) -> str | None:
    """Return what happened and what to do about it; None for a bug, which is nobody's to fix."""
    if isinstance(error, Failure):
        details = [f"  {each}" for each in error.details if each not in error.message]
        hint = [error.hint] if error.hint else []
        return "\n".join([error.message, *details, *hint, f"Code: {error.code}"])
    if isinstance(error, OSError):
        return f"{error.filename or 'This machine'}: {error.strerror or error}.\nCode: failed"
    return None


def _short(value: object) -> str:
    text = repr(value[:SHOWN] if isinstance(value, str | bytes) else value)[:SHOWN]
    length = f", {len(value):,} characters long" if isinstance(value, str | bytes) else ""
    return f"{text}{length}"
