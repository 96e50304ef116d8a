#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Allreduce between the ranks of this machine: MPI_Allreduce, its ring, and every communicator of ours, side by side.
Prints Markdown: times, and how much faster than MPI_Allreduce. Takes some minutes.

    bench/exchange_node.py --ranks 2,4
"""
import argparse

import measure

VGG16 = 138357544 * 4
RESNET50 = 25557032 * 4


def run(ranks, sizes, options):
    def launch(*words):
        return ["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none", *words], {}

    measured = measure.run_all(launch, measure.programs_of(options), sizes, options.comm, options.repeats)
    reference = measure.MPI_DEFAULT

    def cell(seconds, name, size):
        if name == reference:
            return measure.milliseconds(seconds)
        return f"{measure.milliseconds(seconds)} ({measured.median(reference, size) / seconds:.2g}x)"

    print(f"\n{ranks} ranks: milliseconds (and how many times as fast as {reference})\n")
    print(measured.table(sizes, measured.names(), cell), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.add_options(parser, f"64K,1M,4M,25M,{RESNET50},{VGG16}")
    parser.add_argument("--ranks", default="2,4", help="comma-separated")
    parser.add_argument("--comm", default="all", help="as for trireme bench allreduce")
    options = parser.parse_args()
    sizes = [measure.bytes_of(size) for size in options.sizes.split(",")]
    for ranks in options.ranks.split(","):
        run(int(ranks), sizes, options)


if __name__ == "__main__":
    main()
