# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of a stage, each as a process with a time limit and a log."""
import concurrent.futures
import dataclasses
import os
import signal
import subprocess
import time
import typing

import places

OK, FAILED, LATE, SKIPPED = "ok", "FAILED", "OUT OF TIME", "skipped"


@dataclasses.dataclass
class Step:
    """`read(log, output folder)` gives a dictionary of numbers and one line for the table. `make` gives the command; it may
    raise Missing. A step that `may_be_late` is cut short without failing."""
    name: str
    make: typing.Callable[[], typing.List[str]]
    read: typing.Callable[[str], typing.Tuple[dict, str]]
    limit: float = 60
    may_be_late: bool = False
    environment: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    name: str
    status: str
    seconds: float = 0
    numbers: dict = dataclasses.field(default_factory=dict)
    line: str = ""


class Runner:
    """Logs go to the folder `output`, files of the programs to `scratch` in it."""

    def __init__(self, place, output):
        self.place, self.output = place, output
        self.scratch = output / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)

    def run_stage(self, number, name, limit, plan):
        """plan: lists of steps; those of one list run at the same time."""
        print(f"== stage {number}: {name}", flush=True)
        started, outcomes = time.monotonic(), []
        deadline = started + limit
        for group in plan:
            with concurrent.futures.ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
                for outcome in pool.map(lambda step: self.run_step(step, deadline), group):
                    outcomes.append(outcome)
        return {"stage": number, "name": name, "seconds": time.monotonic() - started,
                "steps": [dataclasses.asdict(o) for o in outcomes]}

    def run_step(self, step, deadline):
        outcome = self.outcome_of(step, deadline)
        print(f"   {outcome.name:<34} {outcome.status:<11} {outcome.seconds:6.1f} s  {outcome.line}", flush=True)
        return outcome

    def outcome_of(self, step, deadline):
        limit = min(step.limit, deadline - time.monotonic())
        if limit <= 1:
            return Outcome(step.name, SKIPPED if step.may_be_late else LATE, line="the stage's time was used up")
        try:
            command = step.make()
        except places.Missing as missing:
            return Outcome(step.name, FAILED, line=str(missing))
        except (OSError, subprocess.SubprocessError) as error:
            return Outcome(step.name, FAILED, line=str(error))
        log = self.output / (step.name.replace(" ", "_").replace("/", "_") + ".log")
        started = time.monotonic()
        status = self.execute(command, log, limit, step.environment)
        outcome = Outcome(step.name, OK, time.monotonic() - started)
        text = log.read_text(errors="replace")
        if status is None:
            outcome.status, outcome.line = (SKIPPED if step.may_be_late else LATE), f"not done after {limit:.0f} s: {log}"
        elif status != 0:
            outcome.status, outcome.line = FAILED, f"status {status}: {reason(text)} ({log})"
        else:
            try:
                outcome.numbers, outcome.line = step.read(text)
            except (ValueError, KeyError, OSError, IndexError) as error:
                outcome.status, outcome.line = FAILED, f"its results cannot be read: {error!r} ({log})"
        return outcome

    def execute(self, command, log, limit, environment):
        """Exit status; None where the time was up, and the process and its children were ended."""
        with open(log, "w", encoding="utf-8") as file:
            print("$", *command, file=file, flush=True)
            with subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  env={**self.place.environment, **environment}, cwd=self.scratch,
                                  start_new_session=True) as process:
                try:
                    return process.wait(limit)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return None
                except BaseException:
                    os.killpg(process.pid, signal.SIGKILL)
                    raise


def reason(text):
    """The line of a log that says why it ended: the first with an error, else the last."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return (errors or lines[-1:] or ["no output"])[0][:160]
