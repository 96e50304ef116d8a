# SPDX-License-Identifier: Apache-2.0
"""--sync-bn: a net with batch norm trains the same at any number of ranks, and a rank that stops is noticed."""
import os
import signal

import support
from support import events, rank_of, ranks_of

TIMEOUT = 5  # seconds


class SyncBn(support.Case):
    def train(self, run, *more, ranks, **options):
        return self.trireme(
            "train", "--data", "synthetic:16x16x3:10:144", "--model", "resnet20", "--global-batch", 24, "--epochs", 1,
            "--lr", 0.002, "--log-every", 1, "-o", run, *more, ranks=ranks, **options,
        )

    def losses(self, run):
        return [event["loss"] for event in events(self.folder / run, "step")]

    def largest_difference(self, run, other):
        a, b = self.losses(run), self.losses(other)
        self.assertEqual((len(a), len(b)), (6, 6))
        return max(abs(x - y) / x for x, y in zip(a, b))

    def test_one_rank_equals_two_and_three(self):
        """To rounding, which batch norm amplifies from step to step. Statistics of a share alone are far off. Before
        it saves, a run compares the parameters of its ranks bit for bit."""
        tolerance = 1e-4
        self.train("alone", ranks=1)
        for ranks in (2, 3):
            self.train(f"sync{ranks}", "--sync-bn", ranks=ranks)
            self.assertLess(self.largest_difference("alone", f"sync{ranks}"), tolerance)
        self.train("apart", ranks=3)
        self.assertGreater(self.largest_difference("alone", "apart"), 10 * tolerance)

    def test_checkpoints_classify_alone_and_resume_alike(self):
        self.train("run", "--sync-bn", "--steps", 3, ranks=2)
        alone = self.evaluate("synthetic:16x16x3:10:50", "run")
        self.assertEqual(alone, self.evaluate("synthetic:16x16x3:10:50", "run", ranks=3))
        refused = self.train("other", "--resume", "run", ranks=2, status=78)
        self.assertOneMessage(refused, "its --sync-bn is true, this run's false", "use --sync-bn")
        self.train("run", "--sync-bn", "--resume", "auto", ranks=2)
        self.assertEqual(self.losses("run")[-1], self.losses_of_an_uninterrupted_run()[-1])

    def losses_of_an_uninterrupted_run(self):
        self.train("whole", "--sync-bn", ranks=2)
        return self.losses("whole")

    def test_a_stopped_rank_is_noticed_in_the_layer(self):
        """Almost all of this run's waiting is for statistics: a step has many parts, and its gradients leave last."""
        process = self.start(
            "train", "--data", "synthetic:16x16x3:10:2560", "--model", "resnet20", "--sync-bn", "--global-batch", 256,
            "--accumulate", 128, "--epochs", 9, "--log-every", 1, "--timeout", f"{TIMEOUT}s", "-o", "run", ranks=2,
        )
        self.wait_for("a step", lambda: events(self.folder / "run", "step"), process)
        victim = next(pid for pid in ranks_of(process) if rank_of(pid) == 1)
        self.addCleanup(end, victim)
        os.kill(victim, signal.SIGSTOP)
        status, output = self.finish(process)
        self.assertEqual(status, 69, output)
        self.assertRegex(output, r"waited \S+ s for .*batch norm statistics of \S*(bn\d|downsample\.1), (for|back)ward")


def end(pid):
    """Kills a process that the test has stopped, if it is there still."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    support.main()
