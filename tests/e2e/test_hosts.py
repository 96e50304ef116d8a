# SPDX-License-Identifier: Apache-2.0
"""Ranks on several hosts: every communicator is right there, and a cable that is pulled ends the job."""
import json
import time

import hosts
import support
from support import events

MESSAGE_PASSING = ["hierarchical", "mpi", "ring"]


class OnHosts(support.Case):
    """Ranks are `count` times `slots`."""

    count, slots = 4, 1

    @classmethod
    def setUpClass(cls):
        reason = hosts.obstacle()
        if reason:
            raise support.unittest.SkipTest(reason)

    def setUp(self):
        super().setUp()
        self.hosts = self.enterContext(hosts.Hosts(self.folder / "hosts", self.count, self.slots, rate="1gbit"))

    def program(self, *arguments):
        return self.hosts.mpirun(support.TRIREME.resolve(), *arguments, cwd=self.folder)

    def on_hosts(self, *arguments, **options):
        """Runs the program on all hosts and expects it to leave nothing behind."""
        result = self.execute(self.program(*arguments), env=self.hosts.environment(), **options)
        self.assertEqual(self.hosts.running(support.TRIREME), [], result)
        return result

    def train(self, comm):
        run = self.folder / f"run-{comm}"
        self.on_hosts(
            "train", "--data", "synthetic:16x16x3:4:64", "--model", "resnet20", "--global-batch", 16, "--steps", 6,
            "--lr", 0.01, "--log-every", 1, "--comm", comm, "-o", run,
        )
        self.assertEqual(json.loads((run / "tuning.json").read_text())["comm"], comm)
        return [event["loss"] for event in events(run, "step")]


class FourHosts(OnHosts):
    def test_the_table_is_right_and_says_why_shared_memory_is_out(self):
        text = self.on_hosts("bench", "allreduce", "-b", "4", "-e", "1M", "-f", "8", "-n", "3").stdout
        self.assertIn("4 ranks on 4 nodes", text)
        self.assertRegex(text, r"(?m)^# shm cannot be used here: .{10}")
        rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(rows), len(MESSAGE_PASSING) * 7, text)
        self.assertEqual({row[6] for row in rows}, {"0"}, text)
        averages = text.splitlines()[-1]
        for name in MESSAGE_PASSING:
            self.assertRegex(averages, rf"\b{name} \d")

    def test_training_is_the_same_over_every_communicator(self):
        # All ranks compare their parameters at the checkpoint; a difference is status 70.
        expected = self.train("mpi")
        self.assertEqual(len(expected), 6)
        for comm in ("ring", "hierarchical"):
            for loss, other in zip(expected, self.train(comm), strict=True):
                self.assertAlmostEqual(loss, other, delta=1e-3, msg=comm)


class TwoHostsOfTwo(OnHosts):
    count, slots = 2, 2

    def test_rows_are_right(self):
        result = self.on_hosts("bench", "allreduce", "-b", "20", "-e", "4M", "-f", "16", "-n", "3", "--json")
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(sorted({row["comm"] for row in rows}), MESSAGE_PASSING)
        for row in rows:
            self.assertEqual((row["ranks"], row["nodes"], row["wrong"]), (4, 2, 0), row)

    def test_training_is_the_same_over_every_communicator(self):
        for loss, other in zip(self.train("ring"), self.train("hierarchical"), strict=True):
            self.assertAlmostEqual(loss, other, delta=1e-3)


class CutLink(OnHosts):
    def train_until_cut(self, *arguments, env=None):
        """Starts a run, cuts off its third host while it trains, and returns mpirun."""
        process = self.start_command(
            self.program(
                "train", "--data", "synthetic:16x16x3:4:6400", "--model", "resnet20", "--global-batch", 8, "--epochs",
                1000, "--log-every", 1, "--checkpoint-every", "never", "-o", "run", *arguments,
            ),
            env={**self.hosts.environment(), **(env or {})},
        )
        self.wait_for("steps", lambda: len(events(self.folder / "run", "step")) >= 3, process)
        self.assertEqual(len(self.hosts.running(support.TRIREME)), 4)
        self.hosts.cut(2)
        return process

    def wait_for_end(self, program):
        self.wait_for(f"end of {program}", lambda: not self.hosts.running(program), timeout=30)

    def check_own_deadline(self, comm):
        """Every rank ends by itself, also on the host that nobody can reach. mpirun, which its ranks have left, waits
        for that host; so it is given back."""
        process = self.train_until_cut("--timeout", "5s", "--comm", comm)
        self.wait_for_end(support.TRIREME)
        self.hosts.restore(2)
        status, output = self.finish(process, timeout=60)
        self.assertNotEqual(status, 0, output)
        self.assertIn("trireme: error: ", output)
        self.assertIn("5 s", output)

    def test_our_deadline_ends_a_ring_with_a_message(self):
        self.check_own_deadline("ring")

    def test_our_deadline_ends_a_hierarchical_sum_with_a_message(self):
        self.check_own_deadline("hierarchical")

    def test_with_keepalive_the_launcher_ends_everything_within_30_s(self):
        process = self.train_until_cut("--comm", "ring", env=hosts.KEEPALIVE)
        begin = time.monotonic()
        status, output = self.finish(process, timeout=60)
        self.wait_for_end(support.TRIREME)
        self.wait_for_end(hosts.tool("orted"))
        self.assertLess(time.monotonic() - begin, 30)
        self.assertNotEqual(status, 0, output)


if __name__ == "__main__":
    support.main()
