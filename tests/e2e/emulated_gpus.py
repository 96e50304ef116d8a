# SPDX-License-Identifier: Apache-2.0
"""What the tests of emulated GPUs share: running trireme-simt, and comparing its losses."""
import support
from support import events

SIMT = support.TRIREME.with_name("trireme-simt")


def losses(run):
    return [e["loss"] for e in events(run, "step")]


class GpuCase(support.Case):
    def simt(self, *arguments, ranks=None, **options):
        command = support.command_line(*arguments, ranks=ranks)
        command[command.index(str(support.TRIREME))] = str(SIMT)
        env = {"SIMT_THREADS": "2" if ranks is None else "1", **options.pop("env", {})}
        return self.execute(command, env=env, **{"timeout": 600, **options})

    def pack(self, **pictures):
        support.make_pictures(self.folder / "pictures", **pictures)
        self.trireme("pack", "pictures", "-o", "data.h5")

    def train(self, run, *settings, device="cuda", ranks=None, steps=6, batch=16, **options):
        """Settings of a test come before those that all have; a small learning rate keeps runs from drifting apart."""
        defaults = {
            "--epochs": 1000, "--steps": steps, "--global-batch": batch, "--log-every": 1, "--lr": 0.0003,
            "--checkpoint-every": "never", "--device": device,
        }
        common = [word for pair in defaults.items() if pair[0] not in settings for word in pair]
        program = self.trireme if device == "cpu" else self.simt
        return program("train", "--data", "data.h5", "-o", run, *common, *settings, ranks=ranks, **options)

    def assertLossesFollow(self, run, expected_run, tolerance):
        found, expected = losses(self.folder / run), losses(self.folder / expected_run)
        self.assertEqual(len(found), len(expected))
        self.assertGreater(len(found), 3)
        for step, (a, b) in enumerate(zip(found, expected)):
            self.assertLess(abs(a - b) / abs(b), tolerance, f"step {step + 1}: {found} {expected}")
