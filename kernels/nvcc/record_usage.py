#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a compiler call of nvcc with `-Xptxas -v` and keeps what ptxas says of registers, spills and shared memory in
OBJECT.usage, away from the build's output.

    record_usage.py [LAUNCHER] nvcc ... -o OBJECT ...
"""
import pathlib
import subprocess
import sys


def main():
    command = sys.argv[1:]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    usage, other = [], []
    for line in done.stderr.splitlines(keepends=True):
        about_usage = line.startswith("ptxas info") or "bytes stack frame" in line
        (usage if about_usage else other).append(line)
    sys.stderr.writelines(other)
    if usage and "-o" in command:
        pathlib.Path(command[command.index("-o") + 1] + ".usage").write_text("".join(usage))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
