"""Runs one check in this process: python -m checks NAME --platform PLATFORM --results FILE."""

import argparse
import importlib

from checks import listing
from checks.outcome import Recorder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--platform", required=True)
    parser.add_argument("--results", required=True)
    args = parser.parse_args()
    check = next(check for check in listing.checks() if check.name == args.name)
    module = importlib.import_module(f"checks.{check.module}")
    module.run(Recorder(args.results), args.platform, *check.arguments)


main()
