"""A pytest plugin that stores every program that JAX compiles and runs, with its inputs and XLA's outputs.

JAX passes each module to `backend_compile_and_load`, and runs the resulting executable through
`ExecuteReplicated`, at least the first time (later calls may go through C++). The plugin intercepts both
functions. At the first call of a new program, the plugin runs the program an additional time on the same
inputs, and stores the inputs and outputs. The tests are not affected.

Options come from the environment (JAX_SUITE_*), set by `capture.py`.
"""

import atexit
import collections
import json
import os
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import pytest
from jax._src import compiler
from jax._src.interpreters import pxla

from store import Program, Store, identity


class Limits:
    """Limits on the programs of one test file."""

    def __init__(self) -> None:
        self.programs = int(os.environ["JAX_SUITE_PROGRAMS"])
        self.seconds = float(os.environ["JAX_SUITE_SECONDS"])
        self.test_programs = int(os.environ["JAX_SUITE_TEST_PROGRAMS"])
        self.test_seconds = float(os.environ["JAX_SUITE_TEST_SECONDS"])
        self.text_bytes = 1 << 20
        self.array_bytes = 2 << 20
        self.started = time.process_time()

    def reached(self, kept: int) -> bool:
        """Returns true if the file has reached a limit. The time limit is on CPU time, so the load of the
        machine does not matter."""
        return kept >= self.programs or time.process_time() - self.started > self.seconds


@dataclass
class Pending:
    """A program that has been compiled, but has not run yet."""

    executable: object
    """Kept alive, so that no other executable gets its id."""
    name: str
    text: str
    test: str
    token_inputs: set[int]
    token_outputs: set[int]


class Recorder:
    """Records the programs of this process."""

    def __init__(self) -> None:
        self.store = Store(Path(os.environ["JAX_SUITE_STORE"]))
        self.file = os.environ["JAX_SUITE_FILE"]
        self.limits = Limits()
        self.pending: dict[int, Pending] = {}
        self.seen: set[str] = set()
        self.counts: collections.Counter[str] = collections.Counter()
        self.test = "(import)"
        self.of_test: collections.Counter[str] = collections.Counter()
        self.recording = False
        atexit.register(self.finish)

    def compiled(self, executable, module, options, host_callbacks) -> None:
        """Counts a compiled module. The module becomes pending, unless there is a reason for not storing
        it."""
        self.counts["compiled"] += 1
        text = module.operation.get_asm(enable_debug_info=False)
        name = identity(text)
        reason = self.unfit(name, text, options, host_callbacks)
        self.seen.add(name)
        if reason:
            self.counts[reason] += 1
        else:
            self.pending[id(executable)] = Pending(executable, name, text, self.test, *token_positions(module))

    def unfit(self, name, text, options, host_callbacks) -> str | None:
        """Returns the reason for not storing a program, if there is one."""
        if name in self.seen:
            return "seen before in this file"
        if name in self.store:
            return "in the store already"
        if options.num_replicas * options.num_partitions != 1:
            return "skipped: several devices"
        if host_callbacks or "python_cpu_callback" in text or "python_cpu_buffer_callback" in text:
            return "skipped: calls back into Python"
        if len(text) > self.limits.text_bytes:
            return "skipped: long text"
        if self.of_test[family(self.test)] >= self.limits.test_programs:
            return "skipped: enough of this test"
        return None

    def run(self, executable, buffers, with_tokens: bool):
        """If the program that is about to run is pending, runs it an additional time and stores its inputs
        and outputs."""
        pending = self.pending.pop(id(executable), None)
        if pending is None or self.recording:
            return
        self.recording = True
        try:
            with jax.transfer_guard("allow"), jax.debug_nans(False), jax.debug_infs(False):
                self.keep(pending, executable, buffers, with_tokens)
        except Exception as error:
            self.counts[f"skipped: {type(error).__name__} while recording: {str(error)[:80]}"] += 1
        finally:
            self.recording = False

    def keep(self, pending: Pending, executable, buffers, with_tokens: bool) -> None:
        """Runs a program, and saves it with its inputs and outputs. If the program may reuse the memory of
        its inputs, it runs on copies of the inputs."""
        text, tokens = pending.text, pending.token_inputs
        inputs = [np.array(b) for i, b in enumerate(buffers) if i not in tokens]
        if sum(a.nbytes for a in inputs) > self.limits.array_bytes:
            self.counts["skipped: large inputs"] += 1
            return
        if "tf.aliasing_output" in text or "jax.buffer_donor" in text:
            device = executable.local_devices()[0]
            given = iter([jax.device_put(a.copy(), device) for a in inputs])
            buffers = [b if i in tokens else next(given) for i, b in enumerate(buffers)]
        results = executable.execute_sharded(buffers, with_tokens=with_tokens)
        outputs = [o[0] for o in results.disassemble_into_single_device_arrays()]
        outputs = [np.array(o) for i, o in enumerate(outputs) if i not in pending.token_outputs]
        if sum(a.nbytes for a in outputs) > self.limits.array_bytes:
            self.counts["skipped: large outputs"] += 1
            return
        origin = {"file": self.file, "test": pending.test, "x64": bool(jax.config.jax_enable_x64)}
        self.store.save(Program(pending.name, text, origin, inputs, outputs))
        self.of_test[family(pending.test)] += 1
        self.counts["kept"] += 1

    def finish(self) -> None:
        self.counts["compiled, but never run here"] = len(self.pending)
        Path(os.environ["JAX_SUITE_COUNTS"]).write_text(json.dumps(self.counts), encoding="utf-8")


def token_positions(module) -> tuple[set[int], set[int]]:
    """Returns the positions of tokens among the inputs and among the outputs of a module. Tokens order
    effects and have no value."""
    [main] = [f for f in module.body.operations if getattr(f, "sym_name", None) and f.sym_name.value == "main"]
    inputs, outputs = (
        {i for i, ty in enumerate(types) if "token" in str(ty)} for types in (main.type.inputs, main.type.results)
    )
    return inputs, outputs


def family(test: str) -> str:
    """Returns the name of a test without its parameters: JAX numbers its parameterized tests."""
    return test.split("[")[0].rstrip("0123456789")


class Executable:
    """Wraps an executable in `ExecuteReplicated`, and notifies the recorder of runs."""

    def __init__(self, executable) -> None:
        self._executable = executable

    def execute_sharded(self, buffers, with_tokens=False):
        recorder.run(self._executable, buffers, with_tokens)
        return self._executable.execute_sharded(buffers, with_tokens=with_tokens)

    def __getattr__(self, name):
        return getattr(self._executable, name)


def install() -> None:
    """Installs the recorder in JAX."""
    compile_and_load = compiler.backend_compile_and_load
    make_call = pxla.ExecuteReplicated.__init__

    def compiling(backend, module, executable_devices, options, host_callbacks):
        executable = compile_and_load(backend, module, executable_devices, options, host_callbacks)
        if not recorder.recording:
            recorder.compiled(executable, module, options, host_callbacks)
        return executable

    def making(self, xla_executable, *args, **kwargs):
        if id(xla_executable) in recorder.pending:
            xla_executable = Executable(xla_executable)
        make_call(self, xla_executable, *args, **kwargs)

    compiler.backend_compile_and_load = compiling
    pxla.ExecuteReplicated.__init__ = making


recorder = Recorder()
install()


def pytest_collection_modifyitems(items) -> None:
    """Orders the tests so that a variety of them has run when the file's time is over: the order is random,
    but one test of each name comes first."""
    recorder.limits.started = time.process_time()
    shuffle = random.Random(int(os.environ["JAX_SUITE_SEED"]))
    shuffle.shuffle(items)
    rank: collections.Counter[str] = collections.Counter()
    ranked = []
    for item in items:
        key = family(item.nodeid)
        ranked.append((rank[key], item))
        rank[key] += 1
    ranked.sort(key=lambda pair: pair[0])
    items[:] = [item for _, item in ranked]


class TestTookTooLong(BaseException):
    """Ends one test. It is not an `Exception`, so tests do not catch it."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    recorder.test = item.nodeid.split("::", 1)[-1].replace("::", ".")

    def stop(signum, frame):
        raise TestTookTooLong

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, recorder.limits.test_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if recorder.limits.reached(recorder.counts["kept"]):
        item.session.shouldstop = "this file has contributed its share"
