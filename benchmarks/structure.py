"""Count what the product code is made of.

    python -m benchmarks.structure [FOLDER ...]

Prints lines, files, functions and their lengths, and the share of private functions that are named
only once outside their own definition, over `durable`, `scoring`, `leaderboard` and `holdfast`
without migrations, or over the given folders. Names are counted over the whole product in any
case, so that a folder's figure doesn't depend on which other folders were asked for.
"""

import argparse
import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRODUCT = ("durable", "scoring", "leaderboard", "holdfast")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def list_files(folders: list[str]) -> list[Path]:
    """Return the Python files below the folders, without migrations."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [path for path in found if "migrations" not in path.parts]


def find_functions(text: str) -> Iterator[Function]:
    """Yield every function and method of a module, nested ones too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function):
            yield node


def is_private(name: str) -> bool:
    """Return whether a name is private by convention and not a special method."""
    return name.startswith("_") and not name.startswith("__")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="*", default=list(PRODUCT))
    parser.add_argument("--list", action="store_true", help="print the private functions used once")
    arguments = parser.parse_args()
    words: Counter[str] = Counter()
    for path in list_files(list(PRODUCT)):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    files = list_files(arguments.folders)
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    functions = [(path, each) for path, text in texts.items() for each in find_functions(text)]
    lengths = [(each.end_lineno or each.lineno) - each.lineno + 1 for _, each in functions]
    once = [
        (path, each) for path, each in functions if is_private(each.name) and words[each.name] <= 2
    ]
    ninety = statistics.quantiles(lengths, n=10)[-1]
    print(f"lines      {sum(text.count(chr(10)) for text in texts.values()):,}")
    print(f"files      {len(files)}")
    print(
        f"functions  {len(functions)}: median {statistics.median(lengths):g} lines, "
        f"90 % at most {ninety:g}, longest {max(lengths)}"
    )
    print(f"private and used once  {len(once)} ({100 * len(once) / len(functions):.1f} %)")
    if arguments.list:
        for path, each in once:
            print(f"  {path.relative_to(ROOT)}:{each.lineno} {each.name}")


if __name__ == "__main__":
    main()
