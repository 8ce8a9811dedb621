"""Runs the Python blocks of a page in one process.

Each line of standard input is a JSON list: the file with a block's code, the page's path, the line of the
block's fence, the file for its output, and the folder to run in. The answer is a line `ok` or `failed`.
"""

import json
import os
import sys
import traceback

answers = os.fdopen(os.dup(1), "w")
scope = {"__name__": "__main__"}
sys.path.insert(0, "")

for request in sys.stdin:
    code, name, line, output, folder = json.loads(request)
    os.chdir(folder)
    # Native code writes to the descriptors, so these are redirected, not `sys.stdout`.
    log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    answer = "ok"
    try:
        with open(code) as file:
            # Blank lines give tracebacks the page's line numbers.
            exec(compile("\n" * line + file.read(), name, "exec"), scope)
    except BaseException:
        answer = "failed"
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    print(answer, file=answers, flush=True)
