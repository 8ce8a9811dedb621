"""Tests of `cargo xtask jax-users`: the comparison of two runs, and runs that fail. An error there would hide
wrong results of the backend. The programs do not run here, since their libraries would be downloaded."""

import json
import math
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask"))

from jax_users import __main__ as program  # noqa: E402, once the path is set
from jax_users.comparison import disagreements, largest_difference  # noqa: E402, once the path is set
from jax_users.record import PREFIX, Record  # noqa: E402, once the path is set
from jax_users.report import heading, problems, row  # noqa: E402, once the path is set
from jax_users.runner import SUBJECT, Run, Runner, Runs  # noqa: E402, once the path is set


def recorded(capsys, **changes):
    """Returns a record as a program prints it."""
    given = {"loss": 1.0, "rtol": 1e-3, "atol": 0.0, "mean": 2.0, "error": 0.1, "count": 3.0} | changes
    record = Record()
    record.imported()
    record.first_step()
    record.numbers("losses", [0.5, given["loss"]], rtol=given["rtol"], atol=given["atol"])
    record.numbers("count", [given["count"]], rtol=0.0)
    record.estimate("mean", given["mean"], given["error"])
    record.finish()
    return json.loads(capsys.readouterr().out.removeprefix(PREFIX))


@pytest.mark.parametrize(
    "changes, problem",
    [
        ({}, None),
        ({"loss": 1.0009}, None),
        ({"loss": 1.0011}, "losses: value 1 is 1 and 1.0011 (tolerance: 0.001 of the value, plus 0)"),
        ({"loss": math.nan}, "losses: not all values are finite: [0.5, 1] and [0.5, nan]"),
        ({"count": 4.0}, "count: value 0 is 3 and 4 (tolerance: 0 of the value, plus 0)"),
        ({"mean": 2.7}, None),
        ({"mean": 2.8}, "mean: 2 ± 0.1 and 2.8 ± 0.1 (more than 5 standard errors apart)"),
        ({"error": 0.4}, "mean: 2 ± 0.1 and 2 ± 0.4 (the standard errors differ by a factor over 3)"),
        ({"error": 0.0}, "mean: 2 ± 0.1 and 2 ± 0 (a standard error is not positive)"),
        ({"error": math.nan}, "mean: 2 ± 0.1 and 2 ± nan (a standard error is not positive)"),
        ({"mean": math.inf}, "mean: not all values are finite: [2] and [inf]"),
    ],
)
def test_records_agree_within_their_tolerances(capsys, changes, problem):
    one, other = recorded(capsys), recorded(capsys, **changes)
    assert disagreements(one, other) == ([problem] if problem else [])
    if problem is None:
        assert largest_difference(one, other) <= 1


def test_the_absolute_tolerance_is_added_and_two_nans_disagree(capsys):
    one = recorded(capsys, atol=0.1)
    assert disagreements(one, recorded(capsys, atol=0.1, loss=1.1)) == []
    assert largest_difference(one, recorded(capsys, atol=0.1, loss=1.05)) == pytest.approx(0.495, rel=0.01)
    nan = recorded(capsys, loss=math.nan)
    assert disagreements(nan, nan) != []


def test_missing_numbers_disagree(capsys):
    one, other = recorded(capsys), recorded(capsys)
    other["numbers"][0]["values"].pop()
    assert disagreements(one, other) == ["losses: 2 and 1 values"]
    other["numbers"].pop(0)
    assert "recorded different numbers" in disagreements(one, other)[0]


def test_the_mean_of_a_chain_has_the_error_of_its_effective_draws(capsys):
    record = Record()
    record.mean("x", np.array([1.0, 3.0]), 4)
    record.finish()
    [entry] = json.loads(capsys.readouterr().out.removeprefix(PREFIX))["numbers"]
    assert entry == {"kind": "estimate", "name": "mean of x", "values": [2.0], "error": 0.5}


def test_times_are_medians_and_every_pair_is_compared(capsys):
    def run(seconds, **changes):
        record = recorded(capsys, **changes)
        for at, step in enumerate(("imports", "first step", "last step")):
            record["times"][step] = {"wall": seconds + at, "cpu": 2 * (seconds + at)}
        return Run(record)

    runs = Runs("sample", {"cpu": [run(8), run(98), run(18)], "farcall": [run(3), run(2), run(1)]})
    assert problems(runs) == []
    assert row(runs).split("limit)")[1].split() == [
        "20.0",
        "4.0",
        "0.20",
        "40.0",
        "8.0",
        "0.20",
        "2.0",
        "2.0",
    ]
    assert {len(line) for line in heading().splitlines()} == {len(row(runs))}
    runs.by_backend["farcall"][1] = run(2, loss=2.0)
    assert "disagree" in row(runs)
    assert problems(runs)[0].startswith("sample: XLA:CPU and farcall disagree: losses: value 1 is 1 and 2")
    runs.by_backend["farcall"][1] = Run(None, "sample on farcall: failed")
    assert row(runs).split(maxsplit=1)[1] == "fails on farcall"
    assert problems(runs) == ["sample on farcall: failed"]


SAMPLES = {
    "good": "from jax_users.record import Record; Record().finish()",
    "silent": "",
    "wrong": "print('before'); raise ValueError('shape f32[2,3] is wrong')",
    "killed": "import os; os.abort()",
    "endless": "import time; time.sleep(60)",
}


@pytest.mark.parametrize(
    "name, failure",
    [
        ("good", ""),
        ("silent", "silent on farcall: the process printed no record"),
        ("wrong", "ValueError: shape f32[2,3] is wrong"),
        ("killed", "killed on farcall: the process was killed by SIGABRT"),
        ("endless", "endless on farcall: the process took more than 0.5 s"),
    ],
)
def test_failures_of_processes_are_described(tmp_path, name, failure):
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / f"{name}.py").write_text(SAMPLES[name])
    run = Runner(tmp_path, 0.5 if name == "endless" else 60, "samples").run(name, SUBJECT)
    assert (run.record is None) == bool(failure)
    assert run.failure.endswith(failure)


def test_programs_are_chosen_by_name_pattern_and_library():
    assert program.chosen([]) == program.available()
    assert {name.split("_")[0] for name in program.available()} <= set(program.LIBRARIES)
    assert program.chosen(["optax", "flax_*", "optax_transformer"]) == ["optax_transformer", "flax_cnn"]
    with pytest.raises(SystemExit, match="no program matches `tensorflow`"):
        program.chosen(["tensorflow"])
