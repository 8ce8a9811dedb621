"""A program whose output is read while it runs."""

import subprocess
import tempfile
import time


class Program:
    """A run of a program. Iterating over it starts the program, and returns the lines that it prints.

    The output goes through a file: a process that the program has started could keep a pipe open, and so
    block the reader, after the program was killed.
    """

    def __init__(self, command, seconds, **options):
        """
        Args:
          command: the program and its arguments.
          seconds: time after which the program is killed.
          options: other arguments of `subprocess.Popen`.
        """
        self.command, self.seconds, self.options = command, seconds, options
        #: Exit status; `None` before the end, and if the program was killed.
        self.status = None

    def __iter__(self):
        end = time.monotonic() + self.seconds
        with tempfile.NamedTemporaryFile("wb") as out, open(out.name, errors="replace") as text:
            process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, **self.options
            )
            try:
                line, has_ended = "", False
                while not has_ended:
                    # Everything that the program has printed is in the file when it has ended.
                    has_ended = process.poll() is not None or time.monotonic() >= end
                    while part := text.readline():
                        line += part
                        if line.endswith("\n"):
                            yield line.removesuffix("\n")
                            line = ""
                    if not has_ended:
                        time.sleep(0.05)
                if line:
                    yield line
                self.status = process.poll()
            finally:
                process.kill()
                process.wait()


def last(lines):
    """Returns the last line that is not empty."""
    return next((line for line in reversed(lines) if line.strip()), "no output")
