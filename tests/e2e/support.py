# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running the program, alone or under mpirun, and making pictures for it."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRIREME = pathlib.Path(os.environ.get("TRIREME", ROOT / "build/release/trireme"))
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if not k.startswith(("TRIREME", "OMPI_", "SLURM_"))},
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # more ranks than cores
    "OMP_NUM_THREADS": "1",
}
SKIPPED = 77


class Result:
    """What a finished command left."""

    def __init__(self, command, status, stdout, stderr):
        self.command, self.status, self.stdout, self.stderr = command, status, stdout, stderr

    def __str__(self):
        words = " ".join(map(str, self.command))
        return f"{words}\nstatus {self.status}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


def command_line(*arguments, ranks=None):
    """The program's command line; `ranks`: under mpirun."""
    launcher = [] if ranks is None else ["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none"]
    return [str(word) for word in [*launcher, TRIREME, *arguments]]


class Case(unittest.TestCase):
    """A test with a folder of its own that is removed."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="trireme-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def execute(self, command, status=0, env=None, timeout=240, cwd=None):
        """Runs a command to its end and checks its exit status; None: any."""
        done = subprocess.run(
            command, env={**ENVIRONMENT, **(env or {})}, cwd=cwd or self.folder, timeout=timeout,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )
        result = Result(command, done.returncode, done.stdout, done.stderr)
        if status is not None:
            self.assertEqual(result.status, status, result)
        return result

    def trireme(self, *arguments, ranks=None, **options):
        return self.execute(command_line(*arguments, ranks=ranks), **options)

    def start(self, *arguments, ranks=None, env=None):
        """Starts the program in the background; ended with the test."""
        return self.start_command(command_line(*arguments, ranks=ranks), env)

    def start_command(self, command, env=None):
        process = subprocess.Popen(
            command, env={**ENVIRONMENT, **(env or {})}, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

        def end():
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()

        self.addCleanup(end)
        return process

    def finish(self, process, timeout=120):
        """(exit status, output) of a process that start() began."""
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output

    def wait_for(self, what, condition, process=None, timeout=120):
        """Polls until `condition` is true; fails if `process` ends before."""
        deadline = time.monotonic() + timeout
        while not condition():
            if process is not None and process.poll() is not None:
                if condition():
                    return
                self.fail(f"ended before {what}:\n{process.communicate()[0]}")
            if time.monotonic() > deadline:
                self.fail(f"no {what} within {timeout} s")
            time.sleep(0.02)

    def digest(self, run):
        """The hash over the weights of a run's latest checkpoint."""
        found = re.search(r"\b[0-9a-f]{16}\b", self.trireme("info", run, "--digest").stdout)
        self.assertIsNotNone(found)
        return found.group()

    def evaluate(self, data, run, ranks=None):
        """The `eval` object of `trireme eval --json`."""
        return json.loads(self.trireme("eval", "--data", data, "--checkpoint", run, "--json", ranks=ranks).stdout)

    def assertOneMessage(self, result, *words):
        """One error message, from one rank, with these words."""
        text = result.stdout + result.stderr
        self.assertEqual(text.count("trireme: error:"), 1, result)
        for word in words:
            self.assertIn(word, text, result)


def make_pictures(folder, classes=4, each=30, size=(16, 16), seed=0, suffix="png"):
    """Folders of RGB pictures, one per class: a colour ramp of the class plus noise, easy to learn."""
    random = np.random.default_rng(seed)
    height, width = size
    rows = np.linspace(0, 1, height)[:, None, None]
    columns = np.linspace(0, 1, width)[None, :, None]
    patterns = np.random.default_rng(1234).uniform(-1, 1, (classes, 2, 3))
    for label in range(classes):
        to = pathlib.Path(folder) / f"class{label}"
        to.mkdir(parents=True)
        for i in range(each):
            pixels = 128 + 90 * (rows * patterns[label, 0] + columns * patterns[label, 1])
            pixels = pixels + random.normal(0, 20, (height, width, 3))
            picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
            options = {"quality": 95} if suffix == "jpg" else {}
            picture.save(to / f"{i:04}.{suffix}", **options)
    return pathlib.Path(folder)


def events(run, kind=None):
    """Objects of a run's log.jsonl, of one kind or all. A last line without its end is left out."""
    path = pathlib.Path(run) / "log.jsonl"
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    return [e for e in found if kind is None or e["event"] == kind]


def ranks_of(process):
    """Process ids of the program's ranks below an mpirun."""
    listing = subprocess.run(
        ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    return [int(p) for p in listing if os.path.realpath(f"/proc/{p}/exe") == str(TRIREME.resolve())]


def rank_of(pid):
    """Which rank a process below an Open MPI mpirun is."""
    variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return int(next(v for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")).partition(b"=")[2])


def alive(pid):
    """Whether a process is there and not only waiting to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def main():
    """unittest.main() that tells CTest when every test of the file was skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful() or result.testsRun == 0:
        sys.exit(1)
    sys.exit(SKIPPED if len(result.skipped) == result.testsRun else 0)
