# SPDX-License-Identifier: Apache-2.0
"""Training on GPUs, over their emulation (trireme-simt), and what the program says where there is no GPU."""
import json
import os
import pathlib
import tarfile

import support
from support import events

SIMT = support.TRIREME.with_name("trireme-simt")
SHARED = pathlib.Path(os.environ.get("TRIREME_SHARED", support.ROOT.parent / "shared"))
ARCHIVE = SHARED / "data/cifar10-jpeg.tar.xz"
HAS_GPU = pathlib.Path("/dev/nvidiactl").exists()


def losses(run):
    return [e["loss"] for e in events(run, "step")]


class GpuCase(support.Case):
    def simt(self, *arguments, ranks=None, **options):
        command = support.command_line(*arguments, ranks=ranks)
        command[command.index(str(support.TRIREME))] = str(SIMT)
        return self.execute(command, **{"timeout": 600, **options})

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


@support.unittest.skipUnless(SIMT.is_file(), "this build has no trireme-simt")
class Emulated(GpuCase):
    def test_a_resnet_follows_the_cpu_in_every_precision(self):
        self.pack()
        model = ("--model", "resnet20")
        self.train("cpu", *model, device="cpu", steps=20)
        for precision, tolerance in (("fp32", 2e-3), ("tf32", 2e-2), ("bf16", 2e-2), ("fp16", 2e-2)):
            with self.subTest(precision):
                self.train(precision, *model, "--precision", precision, steps=20)
                self.assertLossesFollow(precision, "cpu", tolerance)
                start = events(self.folder / precision, "start")[0]
                self.assertEqual(start["precision"], precision)
                self.assertIn("emulator", start["devices"][0])

    def test_a_vgg_follows_the_cpu(self):
        self.pack()
        model = ("--model", "vgg16_bn")
        self.train("cpu", *model, device="cpu", steps=8)
        for precision, tolerance in (("fp32", 2e-3), ("bf16", 2e-2)):
            with self.subTest(precision):
                self.train(precision, *model, "--precision", precision, steps=8)
                self.assertLossesFollow(precision, "cpu", tolerance)

    def test_ranks_hold_equal_replicas_with_every_communicator(self):
        self.pack()
        digests = {}
        for comm in ("nccl", "nccl-ring", "shm", "ring", "mpi"):
            with self.subTest(comm):
                # The program itself compares the parameters of all ranks when it saves.
                self.train(comm, "--model", "resnet20", "--precision", "fp32", "--comm", comm, ranks=2, steps=4)
                self.assertEqual(events(self.folder / comm, "start")[0]["comm"], comm)
                digests[comm] = self.digest(comm)
        self.assertEqual(len(set(digests.values())), 1, f"sums of two have equal bits: {digests}")

    def test_three_ranks_with_uneven_shares_follow_one(self):
        self.pack()
        model = ("--model", "lenet", "--precision", "fp32")
        self.train("one", *model, steps=8)
        self.train("three", *model, "--comm", "nccl", ranks=3, steps=8)
        self.assertLossesFollow("three", "one", 1e-3)

    def test_synchronised_batch_norm_follows_one_rank(self):
        self.pack()
        model = ("--model", "resnet20", "--precision", "fp32", "--sync-bn")
        self.train("one", *model, steps=6)
        self.train("two", *model, ranks=2, steps=6)
        self.assertLossesFollow("two", "one", 2e-3)

    def test_recorded_segments_do_what_eager_runs_do(self):
        self.pack()
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                settings = ("--model", "resnet20", "--bucket-mb", 0.2)
                self.train(f"eager{ranks}", *settings, ranks=ranks)
                done = self.train(f"graph{ranks}", *settings, "--cuda-graph", ranks=ranks)
                self.assertNotIn("cannot be used", done.stdout + done.stderr)
                self.assertEqual(self.digest(f"eager{ranks}"), self.digest(f"graph{ranks}"))

    def test_late_streams_change_nothing(self):
        self.pack()
        settings = ("--model", "resnet20", "--bucket-mb", 0.2, "--accumulate", 2)
        self.train("eager", *settings, ranks=2)
        for seed in range(1, 6):
            with self.subTest(seed=seed):
                self.train(f"lazy{seed}", *settings, ranks=2, env={"SIMT_STREAMS": f"lazy:{seed}"})
                self.assertEqual(self.digest("eager"), self.digest(f"lazy{seed}"))

    def test_a_loss_scale_that_overflows_is_lowered_and_training_goes_on(self):
        self.pack()
        settings = ("--precision", "fp16", "--loss-scale", 2**24, "--epochs", 2, "--steps", "all", "--lr", 0.02)
        self.train("run", "--model", "lenet", *settings)
        epochs = events(self.folder / "run", "epoch")
        self.assertGreater(epochs[0]["skipped_steps"], 0)
        self.assertEqual(epochs[1]["skipped_steps"], 0, epochs)
        self.assertLess(epochs[0]["loss_scale"], 2**24)
        self.assertLess(epochs[1]["train_loss"], epochs[0]["train_loss"])

    def test_a_checkpoint_moves_between_cpu_and_gpu(self):
        self.pack()
        model = ("--model", "resnet20", "--precision", "auto")
        for first, then in (("cpu", "cuda"), ("cuda", "cpu")):
            with self.subTest(f"{first} to {then}"):
                run = f"{first}-{then}"
                self.train(run, *model, device=first, steps=3)
                self.train(run, *model, "--resume", "auto", device=then, steps=6)
                self.train(f"{run}-whole", *model, device=first, steps=6)
                self.assertLossesFollow(run, f"{run}-whole", 3e-2)

    def test_resuming_is_bit_equal(self):
        self.pack()
        model = ("--model", "resnet20", "--precision", "fp16")
        self.train("whole", *model, steps=6)
        self.train("parts", *model, steps=3)
        self.train("parts", *model, "--resume", "auto", steps=6)
        self.assertEqual(self.digest("whole"), self.digest("parts"))

    def test_evaluation_is_the_same_at_any_number_of_ranks(self):
        self.pack()
        self.train("run", "--model", "resnet20", "--lr", 0.02, steps=12)
        found = []
        for ranks in (1, 2, 3):
            done = self.simt("eval", "--data", "data.h5", "--checkpoint", "run", "--json", "--device", "cuda",
                             "--eval-batch", 32, ranks=ranks)
            found.append(json.loads(done.stdout))
        self.assertEqual(len({(e["correct"], e["total"], e["loss"]) for e in found}), 1, found)

    def test_pictures_of_many_sizes_and_a_narrow_wire(self):
        support.make_pictures(self.folder / "pictures", each=12, size=(20, 24), suffix="jpg")
        self.trireme("pack", "pictures", "--encode", "jpeg", "-o", "data.h5")
        settings = ("--model", "resnet20", "--image-size", 16, "--augment", "resized-crop", "--wire", "bf16")
        self.train("cpu", *settings, device="cpu", ranks=2)
        for comm in ("nccl", "shm"):
            with self.subTest(comm):
                self.train(comm, *settings, "--precision", "fp32", "--comm", comm, ranks=2)
                self.assertLossesFollow(comm, "cpu", 5e-3)

    def test_ranks_that_would_share_a_gpu_are_refused_unless_allowed(self):
        self.pack(each=8)
        done = self.train("refused", "--model", "lenet", ranks=2, env={"SIMT_DEVICES": "1"},
                          status=None)
        self.assertNotEqual(done.status, 0)
        self.assertOneMessage(done, "GPU", "--ranks-per-gpu")
        self.train("shared", "--model", "lenet", "--ranks-per-gpu", 2, ranks=2, steps=2,
                   env={"SIMT_DEVICES": "1"})
        self.assertNotIn("nccl", events(self.folder / "shared", "start")[0]["comm"])

    def test_too_large_a_batch_names_the_one_that_fits(self):
        self.pack()
        done = self.train("run", "--model", "resnet20", batch=64, env={"SIMT_MEMORY": "8M"}, status=78)
        self.assertOneMessage(done, "memory is too small", "pictures per rank would fit")

    def test_info_tells_of_the_gpus(self):
        text = self.simt("info").stdout
        self.assertRegex(text, r"GPU 0 +SIMT emulator.*GPU-[0-9a-f-]{36}")
        self.assertRegex(text, r"NCCL +\S+")


@support.unittest.skipUnless(SIMT.is_file(), "this build has no trireme-simt")
@support.unittest.skipUnless(ARCHIVE.is_file(), f"no {ARCHIVE.name}: set TRIREME_SHARED to the folder with data/ in it")
class Cifar10(GpuCase):
    def test_resnet20_on_a_few_hundred_pictures_follows_the_cpu(self):
        with tarfile.open(ARCHIVE) as archive:
            wanted = (m for m in archive if m.isfile() and m.name.startswith("cifar10/train/"))
            per_class = {}
            for member in wanted:
                label = pathlib.PurePosixPath(member.name).parent.name
                per_class[label] = per_class.get(label, 0) + 1
                if per_class[label] <= 30:
                    archive.extract(member, self.folder)
                if len(per_class) == 10 and min(per_class.values()) >= 30:
                    break
        self.trireme("pack", "cifar10/train", "-o", "data.h5")
        for device, settings in (("cpu", ()), ("cuda", ("--precision", "fp32"))):
            self.train(device, "--model", "resnet20", *settings, device=device, ranks=2, steps=20, batch=16)
        self.assertLossesFollow("cuda", "cpu", 2e-3)


class WithoutGpu(GpuCase):
    @support.unittest.skipIf(HAS_GPU, "this machine has a GPU")
    def test_a_gpu_that_is_not_there_ends_with_69_and_the_reason(self):
        self.pack(each=8)
        done = self.trireme("train", "--data", "data.h5", "--model", "lenet", "--device", "cuda", "-o", "run", status=69)
        self.assertOneMessage(done, "--device cuda", "--device auto")
        self.assertFalse((self.folder / "run").exists())

    @support.unittest.skipIf(HAS_GPU, "this machine has a GPU")
    def test_auto_trains_on_the_cpu_and_says_so(self):
        self.pack(each=8)
        done = self.trireme("train", "--data", "data.h5", "--model", "lenet", "--steps", 2, "--global-batch", 8, "-o", "run")
        self.assertIn("computing on the CPU", done.stdout + done.stderr)
        self.assertIn("cpu", events(self.folder / "run", "start")[0]["devices"][0])

    def test_settings_of_gpus_are_refused_on_the_cpu(self):
        self.pack(each=8)
        for settings, words in ((("--precision", "bf16"), "--precision bf16"), (("--device", "gpu"), "cuda:N")):
            with self.subTest(settings):
                device = () if "--device" in settings else ("--device", "cpu")
                done = self.trireme("train", "--data", "data.h5", "--model", "lenet", *device, *settings, "-o", "run",
                                    status=None)
                self.assertIn(done.status, (64, 78))
                self.assertOneMessage(done, words)


if __name__ == "__main__":
    support.main()
