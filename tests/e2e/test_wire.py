# SPDX-License-Identifier: Apache-2.0
"""Gradients that travel as 16-bit floats: they train as well as fp32 ones, and what they owe survives a resume."""
import h5py
import numpy as np

import support
from support import events, make_pictures

EPOCHS, STEPS = 6, 60  # 240 pictures, 24 a step


class Wire(support.Case):
    def setUp(self):
        super().setUp()
        make_pictures(self.folder / "train", each=60, size=(24, 24))
        make_pictures(self.folder / "val", each=25, size=(24, 24), seed=1)
        self.trireme("pack", "train", "-o", "train.h5")
        self.trireme("pack", "val", "-o", "val.h5")

    def train(self, run, *more, ranks=2, **options):
        return self.trireme(
            "train", "--data", "train.h5", "--val", "val.h5", "--epochs", EPOCHS, "--global-batch", 24,
            "--log-every", 1, "-o", run, *(more if "--model" in more else ("--model", "resnet20", *more)),
            ranks=ranks, **options,
        )

    def newest(self, run):
        return self.folder / run / (self.folder / run / "latest").read_text().strip()

    def residuals(self, run):
        """[rank][name]: what each rank's wire owes after the run."""
        with h5py.File(self.newest(run)) as file:
            ranks = int(file.attrs["residual_ranks"])
            return [{n: t[()] for n, t in file[f"residuals/{rank}"].items()} for rank in range(ranks)]

    def compare_wires(self, model, rate):
        """Trains `model` on each wire; ({wire: train loss of each epoch}, {wire: final top-1})."""
        losses, shares = {}, {}
        for wire in ("fp32", "bf16", "fp16"):
            run = f"{model}-{wire}"
            self.train(run, "--model", model, "--lr", rate, "--wire", wire, "--augment", "none")
            losses[wire] = np.array([e["train_loss"] for e in events(self.folder / run, "epoch")])
            shares[wire] = events(self.folder / run, "eval")[-1]["top1"]
        self.assertLess(losses["fp32"][-1], 0.1 * losses["fp32"][0], losses)
        for wire in ("bf16", "fp16"):
            self.assertTrue((losses[wire] != losses["fp32"]).any(), f"{wire} rounds")
        return losses, shares

    def test_lenet_has_the_losses_of_the_fp32_wire(self):
        losses, shares = self.compare_wires("lenet", 0.02)
        for wire in ("bf16", "fp16"):
            np.testing.assert_allclose(losses[wire], losses["fp32"], rtol=0.03, err_msg=wire)
            self.assertAlmostEqual(shares[wire], shares["fp32"], delta=0.02)

    def test_resnet20_with_its_batch_norm_converges_as_far(self):
        losses, shares = self.compare_wires("resnet20", 0.01)
        for wire in ("bf16", "fp16"):
            np.testing.assert_allclose(losses[wire][-1], losses["fp32"][-1], atol=0.03, err_msg=str(losses))
            self.assertAlmostEqual(shares[wire], shares["fp32"], delta=0.02)

    def test_resumed_equals_uninterrupted(self):
        self.train("whole", "--wire", "bf16")
        self.train("run", "--wire", "bf16", "--steps", 25)
        result = self.train("run", "--wire", "bf16", "--resume", "auto")
        self.assertEqual(self.digest("run"), self.digest("whole"), result)
        self.assertNotIn("residual", result.stdout)
        whole, resumed = self.residuals("whole"), self.residuals("run")
        self.assertEqual(len(whole), 2)
        for a, b in zip(whole, resumed):
            self.assertEqual(a.keys(), b.keys())
            for name in a:
                np.testing.assert_array_equal(a[name], b[name], err_msg=name)
        self.assertFalse(any("running_" in name for name in whole[0]))
        self.assertRegex(self.trireme("info", self.newest("run"), "--verify").stdout, r"residuals +of 2 ranks")
        self.assertGreater(sum(np.abs(t).sum() for t in whole[1].values()), 0)

    def test_at_another_number_of_ranks_the_sum_goes_to_rank_0(self):
        self.train("run", "--wire", "bf16", "--steps", 13)
        before = self.residuals("run")
        # Its steps are done: it is saved as it was read, by three ranks.
        result = self.train("still", "--wire", "bf16", "--steps", 13, "--resume", self.newest("run"), ranks=3)
        self.assertIn("residuals of 2 ranks are summed onto rank 0", result.stdout)
        after = self.residuals("still")
        self.assertEqual(len(after), 3)
        for name, own in after[0].items():
            np.testing.assert_array_equal(own, before[0][name] + before[1][name], err_msg=name)
            self.assertFalse(after[1][name].any() or after[2][name].any(), name)
        self.train("run", "--wire", "bf16", "--resume", "auto", ranks=3)
        steps = [e["step"] for e in events(self.folder / "run", "step")]
        self.assertEqual(steps, list(range(1, STEPS + 1)))

    def test_another_wire_after_resuming_is_said(self):
        self.train("run", "--steps", 4)
        result = self.train("run", "--wire", "fp16", "--steps", 8, "--resume", "auto")
        self.assertIn("wire fp32 -> fp16", result.stdout)
        self.assertIn("no residuals for --wire fp16: they begin at zero", result.stdout)
        result = self.train("run", "--steps", 12, "--resume", "auto")
        self.assertIn("residuals are dropped", result.stdout)

    def test_mpi_does_not_sum_16_bits(self):
        result = self.train("run", "--wire", "bf16", "--comm", "mpi", status=78)
        self.assertOneMessage(result, "--comm mpi", "--wire fp32")
        self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    support.main()
