"""The module is loaded on a thread that ends."""

import subprocess
import sys

PROGRAM = """
import threading
import numpy as np

def load():
    global farcall
    import farcall

def run():
    double = farcall.compile("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {"
                             " %0 = stablehlo.add %x, %x : tensor<2xf32>\\n return %0 : tensor<2xf32> }")
    print(double(np.ones(2, np.float32)))

for work in (load, run, run):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
run()
"""


def test_the_module_outlives_the_thread_that_loaded_it():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.count("2.")) == (0, 6), done.stderr
