# SPDX-License-Identifier: Apache-2.0
"""A run that was stopped and resumed has the bits of the run that was not; what is damaged is passed over."""
import os
import signal

import support
from support import events, make_pictures, ranks_of

EPOCHS, STEPS = 6, 60  # 240 pictures, 24 a step


class Resume(support.Case):
    def setUp(self):
        super().setUp()
        make_pictures(self.folder / "train", each=60, size=(24, 24))
        make_pictures(self.folder / "val", each=10, size=(24, 24), seed=1)
        self.trireme("pack", "train", "-o", "train.h5")
        self.trireme("pack", "val", "-o", "val.h5")

    def arguments(self, run, *more):
        return (
            "train", "--data", "train.h5", "--val", "val.h5", "--model", "resnet20", "--epochs", EPOCHS,
            "--global-batch", 24, "--augment", "crop-flip", "--log-every", 1, "-o", run, *more,
        )

    def stop_half_way(self, run, stop, ranks=2):
        """Starts a run and calls stop(process) in its second epoch; (status, output)."""
        process = self.start(*self.arguments(run), ranks=ranks)
        self.wait_for("step 15", lambda: len(events(self.folder / run, "step")) >= 15, process)
        stop(process)
        return self.finish(process)

    def last_step(self, run):
        return events(self.folder / run, "step")[-1]["step"]

    def test_usr1_at_mpirun_then_resume(self):
        self.trireme(*self.arguments("whole"), ranks=2)
        status, output = self.stop_half_way("run", lambda process: process.send_signal(signal.SIGUSR1))
        self.assertEqual(status, 143, output)
        self.assertLess(self.last_step("run"), STEPS)
        self.assertEqual(events(self.folder / "run", "end")[-1]["status"], 143)
        result = self.trireme(*self.arguments("run", "--resume", "auto"), ranks=2)
        self.assertEqual(self.digest("run"), self.digest("whole"), result)
        self.assertEqual(self.last_step("run"), STEPS)
        whole, resumed = (
            [e["train_loss"] for e in events(self.folder / run, "epoch")] for run in ("whole", "run")
        )
        self.assertEqual(resumed, whole)

    def test_term_at_one_rank_stops_all_with_the_state_saved(self):
        def stop(process):
            ranks = ranks_of(process)
            self.assertEqual(len(ranks), 2)
            os.kill(ranks[1], signal.SIGTERM)

        status, output = self.stop_half_way("run", stop)
        self.assertEqual(status, 143, output)
        steps = self.last_step("run")
        self.assertLess(steps, STEPS)
        self.assertTrue((self.folder / f"run/checkpoints/step-{steps}.h5").exists(), output)

    def test_term_at_a_run_without_launcher(self):
        status, output = self.stop_half_way("run", lambda process: process.terminate(), ranks=None)
        self.assertEqual(status, 143, output)

    def test_resume_at_another_number_of_ranks_goes_on_with_the_same_pictures(self):
        self.trireme(*self.arguments("run", "--steps", 13), ranks=2)
        result = self.trireme(*self.arguments("run", "--resume", "auto"), ranks=3)
        steps = [e["step"] for e in events(self.folder / "run", "step")]
        self.assertEqual(steps, list(range(1, STEPS + 1)), result)

    def test_a_damaged_newest_checkpoint_is_passed_over(self):
        self.trireme(*self.arguments("whole"), ranks=1)
        self.trireme(*self.arguments("run", "--steps", 25, "--checkpoint-every", "10steps"), ranks=1)
        newest = self.folder / "run/checkpoints/step-25.h5"
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 0xFF
        newest.write_bytes(content)
        result = self.trireme(*self.arguments("run", "--resume", "auto"), ranks=1)
        self.assertIn("step-25.h5", result.stdout + result.stderr)
        self.assertEqual(self.digest("run"), self.digest("whole"))

    def test_auto_begins_where_there_is_no_run(self):
        self.trireme(*self.arguments("run", "--resume", "auto", "--steps", 2))
        self.assertEqual(self.last_step("run"), 2)

    def test_an_existing_run_is_not_overwritten(self):
        self.trireme(*self.arguments("run", "--steps", 1))
        before = (self.folder / "run/log.jsonl").read_text()
        result = self.trireme(*self.arguments("run"), ranks=2, status=73)
        self.assertOneMessage(result, "--resume")
        self.assertEqual((self.folder / "run/log.jsonl").read_text(), before)

    def test_other_settings_are_not_resumed(self):
        self.trireme(*self.arguments("run", "--steps", 1))
        result = self.trireme(*self.arguments("run", "--resume", "auto", "--seed", 5), status=78)
        self.assertOneMessage(result, "seed")


if __name__ == "__main__":
    support.main()
