"""Command line of the long run: `python -m tests.fuzz --minutes 60`."""

import argparse
import random
import sys

from .fuzz_properties import PROPERTIES
from .long_run import LongRun, run_case
from .recomputed import Refused


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None, help="seed of the first batch; random if it is not given")
    parser.add_argument("--property", choices=PROPERTIES, action="append", help="all, if it is not given")
    parser.add_argument("--case", nargs=2, metavar=("PROPERTY", "CASE"), help="run one case of an earlier run again")
    options = parser.parse_args()
    if options.case:
        try:
            run_case(*options.case)
        except Refused as refused:
            print("refused:", refused)
        return 0
    seed = random.randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    run = LongRun(options.property or list(PROPERTIES), seed, options.processes, lambda line: print(line, flush=True))
    good = run.run(options.minutes)
    print(run.summary())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
