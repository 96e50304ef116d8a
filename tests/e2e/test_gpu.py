# SPDX-License-Identifier: Apache-2.0
"""Training on GPUs, over their emulation (trireme-simt), and what the program says where there is no GPU."""
import json
import pathlib

import support
from emulated_gpus import SIMT, GpuCase
from support import events

HAS_GPU = pathlib.Path("/dev/nvidiactl").exists()


@support.unittest.skipUnless(SIMT.is_file(), "this build has no trireme-simt")
class Emulated(GpuCase):
    def test_every_precision_follows_the_cpu(self):
        self.pack()
        model = ("--model", "resnet20")
        self.train("cpu", *model, device="cpu", batch=8)
        for precision, tolerance in (("fp32", 1e-3), ("tf32", 1e-2), ("bf16", 2e-2), ("fp16", 1e-2)):
            with self.subTest(precision):
                self.train(precision, *model, "--precision", precision, batch=8)
                self.assertLossesFollow(precision, "cpu", tolerance)
                start = events(self.folder / precision, "start")[0]
                self.assertEqual(start["precision"], precision)
                self.assertIn("emulator", start["devices"][0])

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
        for seed in range(1, 3):
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
