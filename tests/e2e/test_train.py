# SPDX-License-Identifier: Apache-2.0
"""Pictures in folders become a packed file, a trained network, and the same accuracy at any number of ranks."""
import json
import re

import support
from support import events, make_pictures

EVENTS = {
    "start": {"settings", "ranks", "hosts", "devices"},
    "step": {"step", "epoch", "loss", "lr"},
    "eval": {"epoch", "loss", "top1", "top5", "correct", "total"},
    "epoch": {"train_loss", "images_per_second", "data_wait_share", "comm_wait_share", "comm_hidden_share"},
    "checkpoint": set(),
    "end": {"status"},
}


class Train(support.Case):
    def setUp(self):
        super().setUp()
        make_pictures(self.folder / "train", each=30, suffix="jpg")
        make_pictures(self.folder / "val", each=11, seed=1)
        self.trireme("pack", "train", "-o", "train.h5")
        self.trireme("pack", "val", "-o", "val.h5")

    def train(self, run="run", *more, ranks=2):
        return self.trireme(
            "train", "--data", "train.h5", "--val", "val.h5", "--model", "resnet20", "--epochs", 3,
            "--global-batch", 24, "--lr", 0.05, "--log-every", 2, "-o", run, *more, ranks=ranks,
        )

    def test_the_whole_way(self):
        result = self.train()
        self.check_output(result.stdout + result.stderr)
        self.check_run_folder()
        self.check_log()
        found = [self.evaluate("val.h5", "run", ranks) for ranks in (None, 1, 2, 3, 4)]
        integers = [(e["correct"], e["total"], e["top1"], e["top5"], e["loss"]) for e in found]
        self.assertEqual(len(set(integers)), 1, integers)
        self.assertEqual(found[0]["total"], 44)
        self.assertGreater(found[0]["correct"], 33)  # chance is 11
        text = self.trireme("eval", "--data", "val.h5", "--checkpoint", "run", ranks=2).stdout
        self.assertRegex(text, r"top1=\d\.\d{4} .*loss=\d+\.\d{4}")
        self.assertIn(f"correct={found[0]['correct']}", text)

    def check_output(self, text):
        """What goes into a file is plain: no colours, no cursor movement, fixed decimals."""
        self.assertIsNone(re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text), repr(text))
        self.assertRegex(text, r"top1=\d\.\d{4} .*loss=\d+\.\d{4}")

    def check_run_folder(self):
        run = self.folder / "run"
        names = {p.name for p in run.iterdir()}
        self.assertLessEqual({"config.ini", "log.jsonl", "checkpoints", "latest", "best"}, names)
        for pointer in ("latest", "best"):
            lines = (run / pointer).read_text().split("\n")
            self.assertEqual(len(lines), 2, lines)
            self.assertTrue((run / "checkpoints" / lines[0].rsplit("/", 1)[-1]).is_file(), lines)
        self.assertFalse([p for p in run.rglob("*") if ".tmp-" in p.name])

    def check_log(self):
        found = events(self.folder / "run")
        self.assertEqual(found[0]["event"], "start")
        self.assertEqual(found[-1]["event"], "end")
        self.assertEqual(found[-1]["status"], 0)
        for event in found:
            self.assertLessEqual(EVENTS.get(event["event"], set()), set(event), event)
        kinds = [event["event"] for event in found]
        self.assertLessEqual(set(EVENTS), set(kinds))
        self.assertEqual(kinds.count("epoch"), 3)
        self.assertEqual(kinds.count("eval"), 3)
        steps = [event["step"] for event in found if event["event"] == "step"]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(found[0]["ranks"], 2)
        last = [event for event in found if event["event"] == "eval"][-1]
        self.assertEqual(last["top1"], last["correct"] / last["total"])

    def test_the_settings_of_a_run_start_the_same_run(self):
        self.train("first", ranks=1)
        self.trireme("train", "--config", "first/config.ini", "-o", "second", ranks=1)
        self.assertEqual(self.digest("first"), self.digest("second"))

    def test_loader_threads_do_not_change_a_bit(self):
        self.train("one", "--loader-threads", 1, "--augment", "crop-flip")
        self.train("three", "--loader-threads", 3, "--augment", "crop-flip")
        self.assertEqual(self.digest("one"), self.digest("three"))

    def test_another_seed_is_another_run(self):
        self.train("zero", "--steps", 3)
        self.train("one", "--steps", 3, "--seed", 1)
        self.assertNotEqual(self.digest("zero"), self.digest("one"))

    def test_a_second_copy_of_the_log(self):
        self.train("run", "--steps", 2, "--log-json", "copy.jsonl")
        self.assertEqual((self.folder / "copy.jsonl").read_text(), (self.folder / "run/log.jsonl").read_text())

    def test_training_without_validation_data_says_so(self):
        result = self.trireme(
            "train", "--data", "train.h5", "--model", "lenet", "--epochs", 1, "--global-batch", 24, "--image-size",
            32, "-o", "run",
        )
        self.assertIn("--val", result.stdout + result.stderr)
        self.assertEqual(events(self.folder / "run", "eval"), [])

    def test_rates_of_synthetic_data_say_so(self):
        result = self.trireme(
            "train", "--data", "synthetic:16x16x3:10:256", "--model", "resnet20", "--epochs", 1, "--global-batch", 32,
            "--log-every", 2, "-o", "run", ranks=2,
        )
        rates = [line for line in (result.stdout + result.stderr).split("\n") if "images/s" in line]
        self.assertTrue(rates)
        for line in rates:
            self.assertIn("synthetic", line)

    def test_the_memory_report(self):
        text = self.train("run", "--steps", 1, "--memory-report", ranks=1)
        self.assertIn("layer1.0.conv1", text.stdout + text.stderr)


class WithoutBatchNorm(support.Case):
    def test_one_rank_equals_two_and_three(self):
        """The sums are taken in another order, so losses agree to rounding, not to the bit."""
        losses = []
        for ranks in (1, 2, 3):
            run = f"run{ranks}"
            self.trireme(
                "train", "--data", "synthetic:32x32x3:10:640", "--model", "lenet", "--global-batch", 32, "--epochs", 1,
                "--lr", 0.02, "--log-every", 1, "-o", run, ranks=ranks,
            )
            losses.append([e["loss"] for e in events(self.folder / run, "step")])
        self.assertEqual(len(losses[0]), 20)
        for other in losses[1:]:
            for step, (a, b) in enumerate(zip(losses[0], other)):
                self.assertAlmostEqual(a, b, delta=1e-5 * a, msg=f"step {step}: {json.dumps(losses)}")


if __name__ == "__main__":
    support.main()
