# SPDX-License-Identifier: Apache-2.0
"""A killed rank, a full disk: the job ends, says so, and what was saved before can be read."""
import os
import signal
import time

import support
from support import alive, events, make_pictures, ranks_of


class KilledRank(support.Case):
    def test_every_process_ends_and_the_last_checkpoint_loads(self):
        process = self.start(
            "train", "--data", "synthetic:24x24x3:5:2400", "--model", "resnet20", "--global-batch", 24, "--epochs", 9,
            "--checkpoint-every", "5steps", "--log-every", 1, "-o", "run", ranks=3,
        )
        self.wait_for("a checkpoint", lambda: len(events(self.folder / "run", "checkpoint")) >= 2, process)
        ranks = ranks_of(process)
        self.assertEqual(len(ranks), 3)
        begin = time.monotonic()
        os.kill(ranks[2], signal.SIGKILL)
        status, output = self.finish(process, timeout=30)
        self.assertNotEqual(status, 0, output)
        self.wait_for("end of all ranks", lambda: not any(map(alive, ranks)), timeout=30)
        self.assertLess(time.monotonic() - begin, 30)
        self.digest("run")
        self.evaluate("synthetic:24x24x3:5:50", "run")


class FullDisk(support.Case):
    """The shell's limit on the size of files stands in for a full disk: writing fails half-way."""

    def limited(self, kibibytes, *arguments, **options):
        script = f'ulimit -f {kibibytes}; exec "$@"'
        return self.execute(["bash", "-c", script, "bash", *support.command_line(*arguments)], **options)

    def test_packing_leaves_nothing(self):
        make_pictures(self.folder / "pictures", classes=4, each=50, size=(64, 64))
        result = self.limited(1200, "pack", "pictures", "-o", "data.h5", status=74)
        self.assertOneMessage(result, "data.h5")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["pictures"])

    def test_a_checkpoint_that_does_not_fit_leaves_the_one_before(self):
        # 13 MiB, larger than what MPI's own files in shared memory need.
        arguments = (
            "train", "--data", "synthetic:16x16x3:5:64", "--model", "resnet110", "--global-batch", 8, "-o", "run",
        )
        self.trireme(*arguments, "--steps", 2)
        before = sorted(p.name for p in (self.folder / "run/checkpoints").iterdir())
        digest = self.digest("run")
        result = self.limited(10000, *arguments, "--resume", "auto", "--steps", 4, status=74)
        self.assertOneMessage(result, "step-4.h5")
        self.assertEqual(sorted(p.name for p in (self.folder / "run/checkpoints").iterdir()), before)
        self.assertEqual(self.digest("run"), digest)


if __name__ == "__main__":
    support.main()
