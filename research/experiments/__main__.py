"""The command line of the experiments."""

import argparse
import importlib.util
from pathlib import Path

from research.experiments import EXPERIMENTS, Experiment
from research.experiments.results import Result

FORMATS = (".svg", ".png")


def main(arguments: list[str] | None = None) -> None:
    """Play one experiment. Exits with 2 and one clear line when it is asked something wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.names:
        print("\n".join(EXPERIMENTS))
        return
    experiment = _experiment(parser, options.name)
    _check_files(parser, options)
    if options.literal and experiment.literal is None:
        parser.error(f"--literal: {experiment.name} has one form only")
    run = experiment.literal if options.literal and experiment.literal else experiment.run
    result = run(options.runs or experiment.runs, options.seed)
    print(result.to_text(), end="")
    _write(result, options.json, options.figure)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m research.experiments",
        description="Attacks on leaderboards, beside the published and expected numbers.",
    )
    parser.add_argument("name", nargs="?", help=f"one of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--names", action="store_true", help="list the experiments and stop")
    parser.add_argument("--runs", type=_positive, help="repetitions (each has its own default)")
    parser.add_argument("--seed", type=_not_negative, default=1, help="default: 1")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw it, .svg or .png")
    parser.add_argument(
        "--literal",
        action="store_true",
        help="figure1, figure2, figureS2: row by row, about 1 GB and 5 seconds a run",
    )
    return parser


def _positive(text: str) -> int:
    return _integer(text, 1)


def _not_negative(text: str) -> int:
    return _integer(text, 0)


def _integer(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return value


def _experiment(parser: argparse.ArgumentParser, name: str | None) -> Experiment:
    if name is None:
        parser.error(f"name an experiment: {', '.join(EXPERIMENTS)}")
    if name not in EXPERIMENTS:
        parser.error(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def _check_files(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Check the files before minutes are spent on what cannot be written."""
    for flag, path in (("--json", options.json), ("--figure", options.figure)):
        if path is not None and not path.parent.is_dir():
            parser.error(f"{flag}: there is no folder {path.parent}")
        if path is not None and path.is_dir():
            parser.error(f"{flag}: {path} is a folder")
    if options.figure is not None:
        if options.figure.suffix not in FORMATS:
            parser.error(f"--figure: {options.figure} ends in neither .svg nor .png")
        if importlib.util.find_spec("matplotlib") is None:
            parser.error("--figure: install matplotlib first (pip install matplotlib)")


def _write(result: Result, json: Path | None, figure: Path | None) -> None:
    if json is not None:
        json.write_text(result.to_json())
    if figure is not None:
        from research.experiments.figures import draw

        draw(result, figure)


if __name__ == "__main__":
    main()
