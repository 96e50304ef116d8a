# SPDX-License-Identifier: Apache-2.0
"""What the measuring scripts share: running benchmarks, medians over interleaved repeats, Markdown tables."""
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # more ranks than cores
    "OMP_NUM_THREADS": "1",
}
# MPI_Allreduce as Open MPI chooses, and its ring.
MPI_DEFAULT, MPI_RING = "MPI_Allreduce", "MPI's ring"
MPI_VARIANTS = {
    MPI_DEFAULT: {},
    MPI_RING: {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "4"},
}
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_of(text):
    """"64K" as a number."""
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def size_text(count):
    for unit, factor in reversed(UNITS.items()):
        if count % factor == 0:
            return f"{count // factor} {unit}iB"
    return f"{count / 1e6:.0f} MB"


def json_lines(command, environment=None, timeout=600):
    """The JSON objects that a command prints; ends this program with its messages if it fails."""
    done = subprocess.run(
        [str(word) for word in command], env={**ENVIRONMENT, **(environment or {})}, timeout=timeout,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class Measurements:
    """Seconds of an allreduce by (who summed, bytes); each repeat adds one."""

    def __init__(self):
        self.seconds = collections.defaultdict(list)

    def add(self, rows):
        for row in rows:
            if row["wrong"] != 0:
                sys.exit(f"wrong sums: {row}")
            self.seconds[row["comm"], row["bytes"]].append(row["time_us"] * 1e-6)

    def names(self):
        return list(dict.fromkeys(name for name, _ in self.seconds))

    def median(self, name, size):
        return statistics.median(self.seconds[name, size])

    def table(self, sizes, columns, cell):
        """A Markdown table, a row for each size; `cell(seconds, name, size)` is a text."""
        lines = ["| size | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for size in sizes:
            cells = [cell(self.median(name, size), name, size) if (name, size) in self.seconds else "-"
                     for name in columns]
            lines.append(f"| {size_text(size)} | " + " | ".join(cells) + " |")
        return "\n".join(lines)


def milliseconds(seconds):
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def run_all(launch, programs, sizes, communicators, repeats):
    """Measures MPI_Allreduce, its ring and our communicators, one after the other, `repeats` times. `launch` makes a
    command line of a program's words, `programs` are trireme and mpi_allreduce."""
    trireme, mpi_allreduce = programs
    measured = Measurements()
    for _ in range(repeats):
        for name, environment in MPI_VARIANTS.items():
            command, base = launch(mpi_allreduce, name, *sizes)
            measured.add(json_lines(command, {**base, **environment}))
        for size in sizes:
            one_size = ("--begin", size, "--end", size, "--comm", communicators, "--json")
            command, base = launch(trireme, "bench", "allreduce", *one_size)
            measured.add(json_lines(command, base))
    return measured


def add_options(parser, sizes):
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    parser.add_argument("--sizes", default=sizes, help="bytes of the messages, comma-separated")
    parser.add_argument("--repeats", type=int, default=3, help="medians are over so many")


def programs_of(options):
    """The two programs that are compared; ends this one if they are not built."""
    found = [(options.build / name).resolve() for name in ("trireme", "mpi_allreduce")]
    for path in found:
        if not path.exists():
            sys.exit(f"{path} is missing: cmake --build {options.build} --target trireme mpi_allreduce")
    return found
