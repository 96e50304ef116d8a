#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares each kernel that nvcc compiled with its row in budget.csv: no more registers or static shared memory than
there, no stack frame and no spills. A kernel without a row, and a row without a kernel, are faults too.

    budget.py BUILD_FOLDER            status 1 where one is over; 77 where the kernels were not built
    budget.py BUILD_FOLDER --write    makes the table anew: registers rounded up to the 8 that hardware gives out; empty
                                      where the kernel is not compiled for that card
"""
import csv
import pathlib
import sys

import usage

TABLE = pathlib.Path(__file__).with_name("budget.csv")
ARCHES = list(usage.LIMITS)


def rows_of(found):
    rows = {}
    for (kernel, arch), used in found.items():
        rows.setdefault(kernel, {})[arch] = used
    return dict(sorted(rows.items()))


def write(rows):
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["kernel", *(f"{arch} registers" for arch in ARCHES), "shared bytes"])
        for kernel, used in rows.items():
            table.writerow([kernel, *(-(-used[arch].registers // 8) * 8 if arch in used else "" for arch in ARCHES),
                            max(one.shared for one in used.values())])


def read():
    with open(TABLE, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    return {line[0]: ({arch: int(registers) for arch, registers in zip(ARCHES, line[1:-1]) if registers}, int(line[-1]))
            for line in lines}


def faults(rows, budget):
    found = [f"{kernel}: in the table, but not compiled" for kernel in budget if kernel not in rows]
    for kernel, used in rows.items():
        if kernel not in budget:
            found.append(f"{kernel}: not in the table")
            continue
        registers, shared = budget[kernel]
        found += [f"{kernel}, {arch}: in the table, but not compiled" for arch in registers if arch not in used]
        for arch, now in used.items():
            if arch not in registers:
                found.append(f"{kernel}, {arch}: not in the table")
                continue
            if now.registers > registers[arch]:
                found.append(f"{kernel}, {arch}: {now.registers} registers, {registers[arch]} allowed")
            if now.shared > shared:
                found.append(f"{kernel}, {arch}: {now.shared} bytes of static shared memory, {shared} allowed")
            if now.stack or now.spills:
                found.append(f"{kernel}, {arch}: {now.stack} bytes of stack, {now.spills} bytes spilled; none is allowed")
    return found


def main():
    rows = rows_of(usage.of_build(sys.argv[1]))
    if not rows:
        print("skipped: target cuda_kernels has not been built here")
        return 77
    if "--write" in sys.argv[2:]:
        write(rows)
        return 0
    wrong = faults(rows, read())
    print(*wrong, f"{len(rows)} kernels, {len(wrong)} faults", sep="\n")
    if wrong:
        print(f"meant? {' '.join(sys.argv)} --write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
