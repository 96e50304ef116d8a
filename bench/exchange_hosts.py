#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gradient exchange between hosts that this script makes on this machine (tests/e2e/hosts.py; needs root), side by side:
MPI_Allreduce, its ring, and our ring and hierarchical communicators, over links of 1 Gbit/s and as fast as they go. Then
how much of the exchange a training run hides behind its computation. Prints Markdown. Takes some minutes.

    sudo bench/exchange_hosts.py
    sudo bench/exchange_hosts.py --no-hidden --layouts 4x1 --rates 1gbit --sizes 25M
"""
import argparse
import json
import pathlib
import tempfile

import measure

import hosts  # measure has made it findable

GIGABIT = 125e6  # bytes/s


def link_share(seconds, size, count):
    """Of a host's 1 Gbit/s link, what an allreduce used that sends the least over it: 2(H-1)/H of the tensor."""
    return size * 2 * (count - 1) / count / seconds / GIGABIT


def launcher(made):
    def launch(*words):
        return made.mpirun(*words), made.environment()

    return launch


def compare(folder, layout, rate, sizes, options):
    count, slots = map(int, layout.split("x"))
    with hosts.Hosts(folder, count, slots, rate=None if rate == "unshaped" else rate) as made:
        measured = measure.run_all(
            launcher(made), measure.programs_of(options), sizes, options.comm, options.repeats
        )

    def cell(seconds, name, size):
        share = f" ({100 * link_share(seconds, size, count):.0f} %)" if rate == "1gbit" else ""
        return measure.milliseconds(seconds) + share

    explained = " (and the share of the link)" if rate == "1gbit" else ""
    print(f"\n{count} hosts x {slots}, {rate}: milliseconds{explained}\n")
    print(measured.table(sizes, measured.names(), cell), flush=True)


def hidden(folder, comm, batch, options):
    """The last epoch event of a short training run between two hosts at 1 Gbit/s."""
    steps = options.steps
    with hosts.Hosts(folder / "hosts", 2, rate="1gbit") as made:
        run = folder / "run"
        command = made.mpirun(
            measure.programs_of(options)[0], "train", "--data", f"synthetic:32x32x3:10:{batch * steps}", "--model",
            "vgg16_bn", "--global-batch", batch, "--epochs", 2, "--lr", 0.01, "--comm", comm, "--checkpoint-every",
            "never", "-o", run, *options.train.split(),
        )
        measure.json_lines(command, made.environment(), timeout=1800)
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == "epoch"][-1]


def hidden_table(options):
    print("\nvgg16_bn at 32 px, 2 hosts x 1 at 1 Gbit/s: the share of the exchange that computation hides\n")
    print("| --comm | pictures per rank | step, s | waited for other ranks | hidden |\n|---|---|---|---|---|")
    for comm in options.hidden_comm.split(","):
        for batch in map(int, options.batches.split(",")):
            with tempfile.TemporaryDirectory(prefix="trireme-bench-") as folder:
                event = hidden(pathlib.Path(folder), comm, 2 * batch, options)
            print(
                f"| {comm} | {batch} | {event['seconds'] / options.steps:.2f} | {100 * event['comm_wait_share']:.0f} %"
                f" | {100 * event['comm_hidden_share']:.0f} % |", flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_options(parser, "64K,1M,25M,64M")
    parser.add_argument("--layouts", default="4x1,2x2", help="hosts x ranks of each, comma-separated")
    parser.add_argument("--rates", default="1gbit,unshaped", help="1gbit, unshaped")
    parser.add_argument("--comm", default="mpi,ring,hierarchical", help="as for trireme bench allreduce")
    parser.add_argument("--no-hidden", action="store_true", help="leave the training runs out")
    parser.add_argument("--no-tables", action="store_true", help="leave the allreduce tables out")
    parser.add_argument("--batches", default="16,32,64", help="pictures per rank of the training runs")
    parser.add_argument("--steps", type=int, default=6, help="of an epoch of the training runs")
    parser.add_argument("--hidden-comm", default="ring", help="of the training runs, comma-separated")
    parser.add_argument("--train", default="", help="more settings of the training runs")
    options = parser.parse_args()
    if hosts.obstacle():
        parser.error(hosts.obstacle())
    sizes = [measure.bytes_of(size) for size in options.sizes.split(",")]
    for layout in [] if options.no_tables else options.layouts.split(","):
        for rate in options.rates.split(","):
            with tempfile.TemporaryDirectory(prefix="trireme-bench-") as folder:
                compare(pathlib.Path(folder), layout, rate, sizes, options)
    if not options.no_hidden:
        hidden_table(options)


if __name__ == "__main__":
    main()
