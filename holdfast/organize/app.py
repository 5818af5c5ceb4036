"""The commands below `holdfast organize`, by name."""

from collections.abc import Callable

import typer

from holdfast.organize import bundles, commands, folders, pushing, trials
from holdfast.plan import plan

app = typer.Typer(
    help="Set competitions up and run them. It takes a token with the scope organize.",
    no_args_is_help=True,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "list": commands.list_,
    "init": folders.init,
    "create": folders.create,
    "push": pushing.push,
    "plan": plan,
    "try": trials.try_,
    "open": commands.open_,
    "status": commands.status,
    "announce": commands.announce,
    "people": commands.people,
    "extend": commands.extend,
    "close": commands.close,
    "finals": commands.finals,
    "reveal": commands.reveal,
    "publish": commands.publish,
    "export": bundles.export,
    "import": bundles.import_,
    "clone": bundles.clone,
    "move": bundles.move,
    "vault-key": bundles.vault_key,
    "boards": commands.boards,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
