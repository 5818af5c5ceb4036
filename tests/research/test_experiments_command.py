"""python -m research.experiments"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from research.experiments import EXPERIMENTS
from research.experiments.__main__ import main
from research.experiments.results import Known, compare, compare_share


def test_it_prints_a_table_and_writes_json_and_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, figure = tmp_path / "drain.json", tmp_path / "drain.svg"
    main(["drain", "--runs", "2", "--seed", "7", "--json", str(data), "--figure", str(figure)])
    printed = capsys.readouterr().out
    assert "measured" in printed
    assert "seed 7" in printed
    document = json.loads(data.read_text())
    assert document["name"] == "drain"
    assert document["parameters"]["runs"] == 2
    assert {"quantity", "mean", "standard_error", "expected", "z"} <= set(
        document["comparisons"][0]
    )
    assert figure.read_text().startswith("<?xml")
    assert "#faf9f6" in figure.read_text()


def test_the_same_run_draws_the_same_file(tmp_path: Path) -> None:
    figures = [tmp_path / name for name in ("a.svg", "b.svg")]
    for figure in figures:
        main(["drain", "--runs", "2", "--figure", str(figure)])
    assert figures[0].read_bytes() == figures[1].read_bytes()


def test_it_draws_png(tmp_path: Path) -> None:
    main(["drain", "--runs", "2", "--figure", str(tmp_path / "drain.png")])
    assert (tmp_path / "drain.png").read_bytes().startswith(b"\x89PNG")


def test_it_lists_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--names"])
    assert capsys.readouterr().out.split() == list(EXPERIMENTS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name an experiment"),
        (["figure9"], "there is no experiment 'figure9'"),
        (["drain", "--runs", "0"], "'0' is not a whole number of at least 1"),
        (["drain", "--runs", "many"], "'many' is not a whole number"),
        (["drain", "--seed", "-1"], "'-1' is not a whole number of at least 0"),
        (["drain", "--literal"], "drain has one form only"),
        (["drain", "--figure", "drain.gif"], "ends in neither .svg nor .png"),
        (["drain", "--json", "nowhere/drain.json"], "there is no folder nowhere"),
        (["drain", "--json", "."], "is a folder"),
        (["drain", "--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_what_it_cannot_do_is_said_in_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert complaint in capsys.readouterr().err


def test_only_figures_need_matplotlib() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from research.experiments.__main__ import main\n"
        "main(['drain', '--runs', '1'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_z_is_the_distance_in_standard_errors_of_both_sides() -> None:
    line = compare("x", [1.0, 3.0] * 8, Known(1.5, sd=1.0, runs=48))
    assert line.z == pytest.approx(0.5 / (1 / 16 + 1 / 48) ** 0.5)
    assert compare("x", [1.0, 3.0]).z is None
    assert compare("x", [1.0], Known(2.0)).z is None
    assert compare_share("x", 60, 100, 0.5).z == pytest.approx(2.0)


def test_a_result_reads_as_text() -> None:
    result = EXPERIMENTS["drain"].run(2, 1)
    text = result.to_text()
    assert text.startswith(result.title)
    assert all(table.title in text for table in result.tables)
