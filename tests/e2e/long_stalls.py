# SPDX-License-Identifier: Apache-2.0
"""A rank that stops, a job that is suspended, a rank that is killed: never a silent hang, and who is late is named."""
import json
import os
import random
import re
import signal
import socket
import time

import support
from support import alive, events, rank_of, ranks_of

TIMEOUT = 8  # seconds, of --timeout
LATER = 25  # by which a rank must have ended after a deadline; 15 on a machine that does nothing else
NETWORK = ("--data", "synthetic:32x32x3:10:24000", "--model", "resnet20", "--global-batch", 24, "--bucket-mb", 0.25)


class Stalls(support.Case):
    def start_run(self, ranks, *arguments, steps=2, then=0.0, env=None):
        """A run that has logged some steps and gone on for `then` seconds: (process, process ids by rank)."""
        process = self.start("train", *NETWORK, "--log-every", 1, "-o", "run", *arguments, ranks=ranks, env=env)
        self.wait_for("steps", lambda: len(events(self.folder / "run", "step")) >= steps, process)
        time.sleep(then)
        return process, self.pids_by_rank(process, ranks)

    def pids_by_rank(self, process, ranks):
        pids = {}

        def all_are_there():
            pids.clear()
            pids.update({rank_of(pid): pid for pid in ranks_of(process)})
            return len(pids) == ranks

        self.wait_for("all ranks", all_are_there, process)
        for pid in pids.values():
            self.addCleanup(end, pid)
        return pids

    def assertAllEnd(self, pids, begin, within):
        self.wait_for("end of all ranks", lambda: not any(map(alive, pids.values())), timeout=within)
        self.assertLess(time.monotonic() - begin, within)

    def communicators(self):
        """Those of the program that are algorithms of their own."""
        line = re.search(r"--comm .*?(?=\n *--)", self.trireme("help", "train").stdout, re.DOTALL).group()
        return [name for name in ("mpi", "ring", "shm", "hierarchical") if re.search(rf"\b{name}\b", line)]


class StoppedRank(Stalls):
    def check(self, ranks, victim, *arguments):
        process, pids = self.start_run(ranks, "--timeout", f"{TIMEOUT}s", *arguments, then=1)  # news of steps are out
        os.kill(pids[victim], signal.SIGSTOP)
        begin = time.monotonic()
        status, output = self.finish(process)
        self.assertEqual(status, 69, output)
        self.assertAllEnd(pids, begin, TIMEOUT + LATER)
        self.assertEqual(output.count("trireme: error:"), 1, output)
        self.assertIn(f"waited {TIMEOUT} s for ", output)
        late = re.search(rf"rank {victim} on {socket.gethostname()} is (late|silent).*", output)
        self.assertIsNotNone(late, output)
        self.assertRegex(late.group(), r"last heard of [0-9.]+ s ago, .* step \d+, after [\w.]+; its last collective was ")
        self.assertRegex(output, r"bucket \d+ \([\w.]+")
        self.assertIn("--timeout allows longer waits", output)
        for rank in set(range(ranks)) - {victim}:
            self.check_flight(rank, ranks)
        speaker = 1 if victim == 0 else 0
        peers = json.loads((self.folder / f"run/flight-{speaker}.json").read_text())["peers"]
        self.assertEqual([peer["rank"] for peer in peers], [rank for rank in range(ranks) if rank != speaker])

    def check_flight(self, rank, ranks):
        flight = json.loads((self.folder / f"run/flight-{rank}.json").read_text())
        self.assertEqual((flight["rank"], flight["ranks"], flight["host"]), (rank, ranks, socket.gethostname()))
        numbers = [collective["number"] for collective in flight["collectives"]]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertLessEqual(len(numbers), 64)
        states = {collective["state"] for collective in flight["collectives"]}
        self.assertIn("completed", states)
        self.assertTrue(states & {"started", "submitted"}, flight)
        self.assertIn(f"{TIMEOUT} s for", flight["reason"])

    def test_rank_1_of_2(self):
        self.check(2, 1)

    def test_rank_0_which_would_speak(self):
        self.check(3, 0)

    def test_the_last_rank(self):
        self.check(4, 3)

    def test_every_communicator(self):
        for number, comm in enumerate(self.communicators()):
            with self.subTest(comm=comm):
                if number > 0:
                    (self.folder / "run").rename(self.folder / f"before-{comm}")
                self.check(2, 1, "--comm", comm)


class StoppedInStartUp(Stalls):
    def test_a_rank_stopped_at_any_moment_is_waited_for_until_the_timeout(self):
        for number, comm in enumerate(("auto", "ring", "hierarchical", "auto")):
            moment = random.uniform(0, 0.6)
            with self.subTest(comm=comm, moment=moment):
                limits = [f"--{name}" for name in ("timeout", "startup-timeout", "evaluation-timeout", "saving-timeout")]
                process = self.start(
                    "train", *NETWORK, "--comm", comm, "-o", f"run-{number}",
                    *(word for limit in limits for word in (limit, "4s")), ranks=3,
                )
                pids = self.pids_by_rank(process, 3)
                time.sleep(moment)
                os.kill(pids[number % 3], signal.SIGSTOP)
                begin = time.monotonic()
                status, output = self.finish(process)
                self.assertEqual(status, 69, output)
                self.assertAllEnd(pids, begin, 4 + LATER)
                self.assertRegex(output, r"waited [0-9.]+ s for ", output)


class SuspendedJob(Stalls):
    def test_goes_on_when_it_is_continued(self):
        timeout = 3
        process, pids = self.start_run(3, "--timeout", f"{timeout}s", "--steps", 100)
        for signal_number, seconds in ((signal.SIGSTOP, timeout + 3), (signal.SIGCONT, 0)):
            for pid in pids.values():
                os.kill(pid, signal_number)
            time.sleep(seconds)
        begin_again = len(events(self.folder / "run", "step"))
        self.assertLess(begin_again, 100)
        status, output = self.finish(process)
        self.assertEqual(status, 0, output)
        self.assertEqual(len(events(self.folder / "run", "step")), 100)
        self.assertFalse(list((self.folder / "run").glob("flight-*")))


class KilledAtRandom(Stalls):
    def test_every_process_ends_soon(self):
        choice = random.Random(20)
        for attempt in range(5):
            with self.subTest(attempt=attempt):
                process = self.start("train", *NETWORK, "-o", f"run-{attempt}", ranks=3)
                pids = self.pids_by_rank(process, 3)
                time.sleep(choice.uniform(0, 2.5))
                begin = time.monotonic()
                os.kill(pids[choice.randrange(3)], signal.SIGKILL)
                status, output = self.finish(process)
                self.assertNotEqual(status, 0, output)
                self.assertAllEnd(pids, begin, 30)

    def test_ranks_end_by_themselves_where_the_launcher_does_not_notice(self):
        process, pids = self.start_run(
            3, "--timeout", "4s", env={"OMPI_MCA_orte_enable_recovery": "1", "OMPI_MCA_orte_abort_non_zero_exit": "0"})
        begin = time.monotonic()
        os.kill(pids[1], signal.SIGKILL)
        self.assertAllEnd(pids, begin, 4 + LATER)
        _, output = self.finish(process)
        self.assertIn("trireme: error: ", output)


class Shutdown(Stalls):
    def test_is_quick(self):
        process, pids = self.start_run(3, "--steps", 100, "--checkpoint-every", "never")
        status, output = self.finish(process)
        self.assertEqual(status, 0, output)
        ended = time.time()
        (end_event,) = events(self.folder / "run", "end")
        self.assertLess(ended - end_event["time"], 10)  # 5 on a machine that does nothing else
        self.assertFalse(any(map(alive, pids.values())))


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)  # ends a stopped process, too
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    support.main()
