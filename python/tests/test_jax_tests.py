"""Tests of `cargo xtask jax-tests`: results after a crash, a time limit or an interruption of a worker, and
the comparison with XLA:CPU. An error there would hide failures of JAX's tests."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask"))

from jax_tests import __main__ as program  # noqa: E402, once the path is set
from jax_tests.backends import BACKENDS, Backend  # noqa: E402, once the path is set
from jax_tests.comparison import compare  # noqa: E402, once the path is set
from jax_tests.endings import cause_of  # noqa: E402, once the path is set
from jax_tests.expected import Expected, Group  # noqa: E402, once the path is set
from jax_tests.report import Report, details, normalized  # noqa: E402, once the path is set
from jax_tests.results import Mode, Outcome, Results, Store, fold  # noqa: E402, once the path is set
from jax_tests.runner import Runner  # noqa: E402, once the path is set
from jax_tests.worker import Options  # noqa: E402, once the path is set

MODE = Mode("0.10.2", devices=None)
GOOD = Backend("cpu", "XLA:CPU", {}, packaged=False)
BAD = Backend("farcall", "farcall", {"SAMPLE_IS_BAD": "1"}, packaged=False)

SAMPLE = """
import atexit, os, time, unittest
bad = "SAMPLE_IS_BAD" in os.environ

class Sample(unittest.TestCase):
    def test_a_passes(self):
        pass

    def test_b_fails(self):
        if bad:
            raise ValueError("\\nshape f32[2,3] is wrong\\nmore")

    def test_c_aborts(self):
        if bad:
            os.write(2, b"thread 'main' panicked at src/lib.rs:1:2:\\nindex out of bounds\\n")
            os.abort()

    def test_d_hangs(self):
        if bad:
            time.sleep(600)

    def test_e_skips(self):
        self.skipTest("never")

    def test_f_has_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertFalse(bad and i == 1)

    def test_g_fails_everywhere(self):
        self.fail()

if bad:
    atexit.register(os._exit, 77)
"""


def runner(tmp_path, source, **options):
    (tmp_path / "jax/tests").mkdir(parents=True)
    (tmp_path / "jax/tests/sample_test.py").write_text(source)
    return Runner(Options(tmp_path / "jax", tmp_path / "package", **options), Store(tmp_path / "store", MODE))


def statuses(results):
    return {name.rsplit("test_")[-1]: outcome.status for name, outcome in results.outcomes.items()}


def test_a_crash_and_a_time_limit_lose_one_test_each(tmp_path):
    run = runner(tmp_path, SAMPLE, test_seconds=4)
    for backend in (GOOD, BAD):
        run.run_file("sample_test.py", backend)
    reference = run.store.results("sample_test.py", "cpu")
    subject = run.store.results("sample_test.py", "farcall")
    assert reference.complete and subject.complete
    always = {"a_passes": "passed", "e_skips": "skipped", "g_fails_everywhere": "failed"}
    good = {"b_fails": "passed", "c_aborts": "passed", "d_hangs": "passed", "f_has_subtests": "passed"}
    assert statuses(reference) == always | good
    bad = {"b_fails": "failed", "c_aborts": "crashed", "d_hangs": "timeout", "f_has_subtests": "failed"}
    assert statuses(subject) == always | bad
    outcome = {name.rsplit("test_")[-1]: outcome for name, outcome in subject.outcomes.items()}
    assert outcome["b_fails"].reason == "ValueError: shape f32[2,3] is wrong"
    assert "in test_b_fails" in outcome["b_fails"].text
    cause = "panicked at src/lib.rs:1:2: index out of bounds"
    assert outcome["c_aborts"].reason == f"was killed by SIGABRT: {cause}"
    assert "in test_c_aborts" in outcome["c_aborts"].text, "the stack of the crash is lost"
    assert outcome["d_hangs"].reason == "over 4 s: in test_d_hangs"

    comparison = compare("sample_test.py", reference, subject, Expected().patterns(MODE, ["sample_test.py"]))
    assert (comparison.counted, len(comparison.passed), len(comparison.unexpected)) == (5, 1, 4)
    assert comparison.exit_problem == "after its last test, the process ended with exit code 77"
    report = Report(BAD, [comparison], "", strict=True)
    assert not report.good
    assert "sample_test.py        5        1  20.00" in report.summary()
    assert "1  failed: ValueError: shape T[…] is wrong" in report.failures("")
    shown = details("test_b", run.store, BAD)
    assert "XLA:CPU: passed" in shown and "farcall: failed" in shown and "SAMPLE_IS_BAD=1" in shown

    # All tests have results, so nothing runs again until a result is forgotten.
    events = run.store.events("sample_test.py", "farcall")
    before = list(events.read())
    run.run_file("sample_test.py", BAD)
    assert list(events.read()) == before
    program.forget(run.store, "sample_test.py", "farcall", "*::test_[bc]*")
    run.run_file("sample_test.py", Backend("farcall", "farcall", {}, packaged=False))
    again = run.store.results("sample_test.py", "farcall")
    assert statuses(again) == always | bad | {"b_fails": "passed", "c_aborts": "passed"}
    assert again.seconds == subject.seconds, "repetitions change the time of the file"
    program.forget(run.store, "sample_test.py", "farcall", "failed")
    remaining = run.store.results("sample_test.py", "farcall").remaining
    assert [test.rsplit("test_")[-1] for test in remaining] == [
        "d_hangs",
        "f_has_subtests",
        "g_fails_everywhere",
    ]


@pytest.mark.parametrize(
    "source, start_seconds, reason",
    [
        ("import no_such_module", 60, "not collected: ModuleNotFoundError: No module named 'no_such_module'"),
        ("import os; os._exit(3)", 60, "no test can run: the process ended with exit code 3"),
        ("import time; time.sleep(60)", 2, "no test can run: the process hung"),
    ],
)
def test_a_file_that_cannot_start_fails_as_a_whole(tmp_path, source, start_seconds, reason):
    run = runner(tmp_path, source, start_seconds=start_seconds)
    line = run.run_file("sample_test.py", BAD)
    assert line == f"sample_test.py farcall: {reason}"
    subject = run.store.results("sample_test.py", "farcall")
    reference = Results(["sample_test.py::a"], {"sample_test.py::a": Outcome("passed")})
    comparison = compare("sample_test.py", reference, subject, Expected().patterns(MODE, []))
    assert comparison.unexpected["sample_test.py::a"].reason == reason


def test_a_module_that_skips_itself_is_complete(tmp_path):
    run = runner(tmp_path, "import unittest; raise unittest.SkipTest('elsewhere')")
    run.run_file("sample_test.py", GOOD)
    results = run.store.results("sample_test.py", "cpu")
    assert results.complete and not results.broken and results.tests == []


def event(kind, at, **fields):
    return {"event": kind, "at": at, **fields}


def end(test, status="passed", at=2):
    return event("end", at, test=test, status=status, seconds=1, cpu=1, reason="", text="")


def test_an_interrupted_run_continues_where_it_was(tmp_path):
    run = runner(tmp_path, SAMPLE)
    events = run.store.events("sample_test.py", "cpu")
    names = [f"sample_test.py::Sample::test_{name}" for name in ("a_passes", "b_fails")]
    events.append("worker", build="")
    events.append("start", test=names[0], log=0)
    events.append("end", **{k: v for k, v in end(names[0], "failed").items() if k not in ("event", "at")})
    # The whole run was killed during this test, while a line was being written.
    events.append("start", test=names[1], log=0)
    with events.path.open("a") as file:
        file.write('{"event": "en')
    run.run_file("sample_test.py", GOOD)
    results = events.results()
    assert results.complete
    assert results.outcomes[names[0]].status == "failed", "a test with a result ran again"
    assert results.outcomes[names[1]].status == "passed", "the interrupted test counts as crashed"


def test_times_of_all_workers_are_added():
    history = [
        event("worker", 10),
        event("collected", 11, tests=["a", "b", "c"]),
        end("a", at=15),  # interrupted together with its parent after 5 s
        event("worker", 100),
        end("b", "crashed", at=103),
        event("exit", 104, code=-6, seconds=4, cpu=3),
        event("worker", 110),
        end("c", at=112),
        event("exit", 112, code=0, seconds=2, cpu=1),
    ]
    results = fold(history)
    assert (results.seconds, results.cpu, results.complete) == (11, 5, True)
    assert fold(history[:-2]).remaining == ["c"]
    history += [
        event("forget", 200, tests=["b"], broken=True),
        event("worker", 201),
        end("b", at=205),
        event("exit", 206, code=0, seconds=5, cpu=5),
    ]
    results = fold(history)
    assert results.seconds == 11, "a repetition of one test counts"
    assert results.outcomes["b"].status == "passed"


def results(**outcomes):
    tests = {f"x_test.py::{name}": Outcome(status) for name, status in outcomes.items()}
    return Results(list(tests), tests)


def test_only_tests_that_xla_passes_count():
    reference = results(a="passed", b="failed", c="skipped", d="timeout", e="passed", f="passed", g="passed")
    subject = results(a="passed", b="passed", c="failed", d="failed", e="skipped", f="crashed")
    comparison = compare("x_test.py", reference, subject, Expected().patterns(MODE, ["x_test.py"]))
    assert comparison.passed == ["x_test.py::a"]
    # `g` does not exist on the backend, which is a failure.
    assert list(comparison.unexpected) == ["x_test.py::e", "x_test.py::f", "x_test.py::g"]
    subject.tests = [*subject.tests, "x_test.py::g"]
    comparison = compare("x_test.py", reference, subject, Expected().patterns(MODE, ["x_test.py"]))
    assert comparison.pending == ["x_test.py::g"]
    assert not comparison.good(strict=True), "a run that is not finished is accepted"


def listed(*names, **keys):
    return Expected(10, [Group("a reason", tuple(f"x_test.py::{name}" for name in names), **keys)])


@pytest.mark.parametrize(
    "expected, good",
    [
        (listed("b"), True),
        (listed("[b]"), True),
        (listed(), False),
        (listed("b", "a"), False),
        (listed("*"), False),
        (listed("b", "no_such_test"), False),
        (listed("b", x64=False), True),
        (listed("b", x64=True), False),
        (listed("b", jax="0.10"), True),
        (listed("b", jax="0.12"), False),
    ],
)
def test_the_list_must_fit_exactly(expected, good):
    comparison = compare(
        "x_test.py",
        results(a="passed", b="passed"),
        results(a="passed", b="failed"),
        expected.patterns(MODE, ["x_test.py"]),
    )
    assert comparison.good(strict=True) == good


def test_an_update_changes_the_list_in_one_mode_only(tmp_path):
    expected = listed("a", "b*", "gone", "elsewhere")
    reference = results(a="passed", b1="passed", b2="passed", b3="passed", elsewhere="passed")
    subject = results(a="passed", b1="passed", b2="failed", b3="failed", elsewhere="failed")
    comparison = compare("x_test.py", reference, subject, expected.patterns(MODE, ["x_test.py"]))
    assert not comparison.good(strict=True)
    expected.remove(MODE, comparison.corrections())
    path = tmp_path / "expected.toml"
    expected.save(path)
    expected = Expected.load(path)
    assert expected.groups == [
        Group("a reason", ("x_test.py::elsewhere",)),
        Group("a reason", ("x_test.py::a", "x_test.py::b*", "x_test.py::gone"), x64=True),
        Group("a reason", ("x_test.py::b2", "x_test.py::b3"), x64=False),
    ]
    comparison = compare("x_test.py", reference, subject, expected.patterns(MODE, ["x_test.py"]))
    assert comparison.good(strict=True)
    expected.add("a reason", ["x_test.py::new"])
    assert expected.groups[0] == Group("a reason", ("x_test.py::elsewhere", "x_test.py::new"))


def test_generated_cases_of_another_number_are_matched_by_their_stem():
    expected = listed("test_sum7", "test_once")
    few = Mode("0.10.2", cases=3)
    patterns = expected.patterns(few, ["x_test.py"])
    assert not expected.strict(few)
    assert patterns.match("x_test.py::test_sum1")
    assert not patterns.match("x_test.py::test_once2")


def test_the_committed_list_is_valid():
    expected = Expected.load()
    names = [test for group in expected.groups for test in group.tests]
    assert all(test.split("::")[0].endswith("_test.py") for test in names)
    assert all(group.reason.strip() for group in expected.groups)


def test_files_are_chosen_by_name_path_and_pattern():
    available = ["api_test.py", "lax_numpy_test.py", "lax_test.py", "multiprocess_gpu_test.py"]
    assert program.chosen_files(available, []) == available[:3]
    assert program.chosen_files(available, ["api", "tests/lax_test.py"]) == ["api_test.py", "lax_test.py"]
    assert program.chosen_files(available, ["lax_*", "lax"]) == ["lax_numpy_test.py", "lax_test.py"]
    with pytest.raises(SystemExit, match="no test file matches `apo`"):
        program.chosen_files(available, ["apo"])


def test_causes_of_crashes_and_reasons_are_comparable():
    fatal = "F0000 00:00 123 pjrt.cc:12] Check failed: x"
    assert cause_of(f"noise\n{fatal}\nmore") == fatal
    stack = 'Current thread 0x01 (most recent call first):\n  File "a.py", line 3 in compile\n  …'
    assert cause_of(stack) == "in compile"
    assert cause_of("") == ""
    one, other = (
        Outcome("failed", reason=f"E: tensor<{n}xf32> and f32[{n}] at 0x{n}f: {n}") for n in (1, 23)
    )
    assert normalized(one) == normalized(other) == "failed: E: tensor<…> and T[…] at N: N"


def test_a_build_is_identified_by_its_files(tmp_path):
    backend = BACKENDS["farcall"]
    assert backend.build(tmp_path / "none") == ""
    (tmp_path / "plugin.so").write_bytes(b"1")
    first = backend.build(tmp_path)
    (tmp_path / "plugin.so").write_bytes(b"2")
    assert backend.build(tmp_path) != first
