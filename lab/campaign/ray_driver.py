#!/usr/bin/env python3
"""Runs a campaign on a Ray cluster, or on this machine where there is none.

    pip install ray
    lab/campaign/ray_driver.py campaign.toml results

The campaign's file, the folder for results and the program must be seen by all nodes. A cell whose worker was lost runs
again elsewhere. The same command goes on where it stopped: a cell that has its result ends at once.

Exit codes: 0 all cells have their results, 1 some failed, 2 wrong command line or campaign file, 130 interrupted.
"""

import argparse
import os
import subprocess
import sys

import ray


@ray.remote(num_cpus=1, max_retries=5, retry_exceptions=[OSError])
def run(program, file, into, first, last):
    """Runs cells; gives the program's code and words. A worker that dies in between is another try."""
    command = [program, file, "--into", into, "--jobs", "1", "--cell", f"{first}-{last}", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        raise OSError(f"signal {-done.returncode} ended the program")
    return done.returncode, done.stdout, done.stderr


def finished(pending, most):
    """Waits until fewer than `most` tasks are pending; takes those that are over and gives what they gave."""
    while len(pending) >= max(most, 1):
        done, _ = ray.wait(list(pending), num_returns=1)
        for task in done:
            first = pending.pop(task)
            try:
                yield first, ray.get(task)
            except Exception as error:  # A task that was lost for good does not end the others.
                yield first, (1, "", str(error))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", help="the campaign's file")
    parser.add_argument("into", help="the folder for results")
    parser.add_argument("--program", default="campaign", help="the program")
    parser.add_argument("--address", help="the cluster, such as auto or ray://HOST:10001; this machine where nothing is said")
    parser.add_argument("--cells", type=int, default=1, help="cells that a task runs; more where they are short")
    parser.add_argument("--pending", type=int, default=1000, help="tasks that Ray knows of at once")
    arguments = parser.parse_args()
    if arguments.cells < 1 or arguments.pending < 1:
        parser.error("--cells and --pending are at least 1")
    file, into = os.path.abspath(arguments.file), os.path.abspath(arguments.into)
    program = os.path.abspath(arguments.program) if os.sep in arguments.program else arguments.program

    counted = subprocess.run([program, file, "--count"], stdout=subprocess.PIPE, text=True, check=False)
    if counted.returncode != 0:
        return counted.returncode
    count = int(counted.stdout)
    ray.init(address=arguments.address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)

    pending, failed, told = {}, 0, 0

    def hear(first, code, words, last_words):
        nonlocal failed, told
        told += 1
        if code != 0:
            failed += 1
            print(f"cells from {first}: {(words + last_words).strip()}", file=sys.stderr)
        elif told % 100 == 0:
            print(f"{told} of {-(-count // arguments.cells)} tasks, {failed} failed", file=sys.stderr)

    for first in range(0, count, arguments.cells):
        for place, result in finished(pending, arguments.pending):
            hear(place, *result)
        last = min(first + arguments.cells, count) - 1
        pending[run.remote(program, file, into, first, last)] = first
    for place, result in finished(pending, 1):
        hear(place, *result)
    print(f"{told} tasks, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted: the same command goes on", file=sys.stderr)
        sys.exit(130)
