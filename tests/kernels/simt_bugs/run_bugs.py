#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each seeded bug in each build of the emulator, prints what noticed it, and fails where one escapes.

usage: run_bugs.py FAST ASAN TSAN TRACE    (programs simt_bugs_*, or "-" for a build that is not there)

A bug is noticed by a wrong result (`wrong`), by the emulator (`fault`), or by a sanitizer. MUST says which builds have to;
what others notice is printed too. Without the bug, every program must be silent in every order.
"""
import concurrent.futures
import os
import subprocess
import sys

BUILDS = ["fast", "asan", "tsan", "trace"]
EVERYWHERE = set(BUILDS)
MUST = {
    "missing_syncthreads": EVERYWHERE,
    "missing_syncthreads_before_rewrite": EVERYWHERE,
    "missing_syncwarp": EVERYWHERE,
    "missing_sync_before_ldmatrix": {"tsan", "trace"},
    "async_wait_one_group_short": EVERYWHERE,
    "stage_refilled_early": EVERYWHERE,
    "two_blocks_write_one_word": {"tsan"},
    "global_read_past_end": EVERYWHERE,
    "bare_global_read_past_end": {"asan", "trace"},
    "bare_global_read": {"trace"},
    "async_row_past_end": EVERYWHERE,
    "static_shared_past_end": {"asan", "trace"},
    "dynamic_shared_past_end": {"asan", "trace"},
    "misaligned_global_vector": EVERYWHERE,
    "misaligned_shared_vector": {"asan"},
    "integer_overflow": {"asan"},
    "uninitialised_shared_read": EVERYWHERE,
    "barrier_in_a_branch": EVERYWHERE,
    "shuffle_in_a_branch": EVERYWHERE,
    "shuffle_after_others_exited": EVERYWHERE,
    "exit_with_copies_under_way": EVERYWHERE,
    "host_pointer": EVERYWHERE,
    "freed_pointer": EVERYWHERE,
    "result_read_without_waiting": EVERYWHERE,
    "input_overwritten_before_its_copy": EVERYWHERE,
    "missing_event_between_streams": EVERYWHERE,
    "slot_refilled_before_it_was_read": EVERYWHERE,
    "wait_before_the_recording": EVERYWHERE,
    "graph_of_freed_memory": EVERYWHERE,
    "graph_with_a_frozen_number": EVERYWHERE,
}
ORDERS = ["forward", "reverse", "seed:1"]
# Each way of running: threads in an order, streams in an order.
WAYS = [(ORDERS[seed % len(ORDERS)], f"lazy:{seed}") for seed in range(5)] + [("seed:2", "eager")]
SIGNS = [("heap-buffer-overflow", "asan"), ("use-after-poison", "asan"), ("AddressSanitizer", "asan"),
         ("runtime error: signed integer overflow", "ubsan"), ("runtime error:", "ubsan"),
         ("ThreadSanitizer: data race", "race"), ("ThreadSanitizer", "tsan"),
         ("tracer: ", "trace"), ("emulator: a failure was never asked for", "fault")]


def noticed_by(program, bug, variant, way):
    """Who noticed something, in a word, or None; and what was printed."""
    environment = dict(os.environ, SIMT_ORDER=way[0], SIMT_STREAMS=way[1], SIMT_STRICT_EVENTS="1",
                       TSAN_OPTIONS="atexit_sleep_ms=0", ASAN_OPTIONS="detect_leaks=0")
    run = subprocess.run([program, bug, variant], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120, check=False)
    if run.returncode == 0:
        return None, run.stdout
    for sign, word in SIGNS:
        if sign in run.stdout:
            return word, run.stdout
    for line in run.stdout.splitlines():
        word = line.partition(": ")[0]
        if word in ("wrong", "fault"):
            return word, run.stdout
    return f"status {run.returncode}", run.stdout


def check(build, program, bug):
    """The cell of the table, and the complaints."""
    complaints = []
    seen = []
    for way in WAYS:
        word, output = noticed_by(program, bug, "correct", way)
        if word is not None:
            complaints.append(f"{build}: {bug} without the bug, {way[0]}, {way[1]}: {word}\n{output}")
        word, output = noticed_by(program, bug, "seeded", way)
        seen.append(word)
    words = sorted({word for word in seen if word is not None})
    count = sum(word is not None for word in seen)
    cell = "-" if not words else "+".join(words) + (f" {count}/{len(WAYS)}" if count < len(WAYS) else "")
    if not words and build in MUST[bug]:
        complaints.append(f"{build}: {bug} was not noticed")
    return cell, complaints


def main():
    programs = {build: path for build, path in zip(BUILDS, sys.argv[1:]) if path != "-"}
    if len(sys.argv) != len(BUILDS) + 1 or not programs:
        sys.exit(__doc__)
    bugs = subprocess.run([next(iter(programs.values())), "list"], check=True, capture_output=True,
                          text=True).stdout.split()
    if set(bugs) != set(MUST):
        sys.exit(f"bugs without a line in MUST, or the other way round: {sorted(set(bugs) ^ set(MUST))}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cells = {(bug, build): pool.submit(check, build, program, bug)
                 for bug in bugs for build, program in programs.items()}
    complaints = []
    print(f"{'seeded bug':36}" + "".join(f"{build:18}" for build in programs))
    for bug in bugs:
        row = [cells[bug, build].result() for build in programs]
        print(f"{bug:36}" + "".join(f"{cell:18}" for cell, _ in row))
        for _, found in row:
            complaints += found
    print(f"n/{len(WAYS)}: noticed in so many orders of threads and streams; all of them where there is no number")
    for complaint in complaints:
        print(complaint)
    print(f"{len(bugs)} bugs, {len(programs)} builds, {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
