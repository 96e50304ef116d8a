# SPDX-License-Identifier: Apache-2.0
"""Every way of summing gradients trains the same network on real pictures (Debian's dataset-fashion-mnist)."""
import pathlib

import support
from support import events

IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")
COMMUNICATORS = ("mpi", "ring", "shm", "hierarchical")
STEPS = 20


class Exchange(support.Case):
    def setUp(self):
        super().setUp()
        if not IMAGES.is_dir():
            self.skipTest("needs the Debian package dataset-fashion-mnist")
        self.trireme("pack", IMAGES / "t10k-images-idx3-ubyte.gz", "-o", "data.h5")

    def train(self, model, comm, ranks, *more):
        """Folder of a short run."""
        run = f"{model}-{comm}-{ranks}-{len(more)}"
        self.trireme(
            "train", "--data", "data.h5", "--model", model, "--epochs", 1, "--steps", STEPS, "--global-batch", 48,
            "--lr", 0.02, "--log-every", 1, "--comm", comm, "--checkpoint-every", "never", "-o", run, *more, ranks=ranks,
        )
        self.assertEqual(events(self.folder / run, "start")[0]["comm"], comm)
        return run

    def losses(self, run):
        found = [event["loss"] for event in events(self.folder / run, "step")]
        self.assertEqual(len(found), STEPS)
        return found

    def assertSameLosses(self, run, other):
        for step, (a, b) in enumerate(zip(self.losses(run), self.losses(other)), 1):
            self.assertAlmostEqual(a, b, delta=1e-3, msg=f"step {step} of {run} and {other}")

    def test_two_ranks_give_equal_bits_over_every_communicator(self):
        for model in ("lenet", "resnet20"):
            digests = {comm: self.digest(self.train(model, comm, 2)) for comm in COMMUNICATORS}
            self.assertEqual(len(set(digests.values())), 1, digests)

    def test_three_and_four_ranks_give_equal_losses_over_every_communicator(self):
        alone = self.train("lenet", "mpi", 1)
        for ranks in (3, 4):
            for comm in COMMUNICATORS:
                self.assertSameLosses(self.train("lenet", comm, ranks), alone)

    def test_tuned_as_another_run_the_sums_have_the_same_bits(self):
        run = self.train("lenet", "ring", 3)
        tuned = self.train("lenet", "ring", 3, "--tuning", f"{run}/tuning.json")
        self.assertEqual((self.folder / tuned / "tuning.json").read_text(), (self.folder / run / "tuning.json").read_text())
        self.assertEqual(self.digest(tuned), self.digest(run))

    def test_a_tuning_that_is_none_is_refused_by_name(self):
        (self.folder / "odd.json").write_text("{}")
        for path, status, words in (("odd.json", 65, "not the tuning of a run"), ("none.json", 66, "no such file")):
            result = self.trireme(
                "train", "--data", "data.h5", "--model", "lenet", "--tuning", path, "-o", "odd", ranks=2, status=status
            )
            self.assertOneMessage(result, words, path, "--tuning")

    def test_the_size_of_buckets_does_not_change_two_ranks_bits(self):
        digests = {self.digest(self.train("lenet", "ring", 2, *more)) for more in ((), ("--bucket-mb", 0.01))}
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    support.main()
