# SPDX-License-Identifier: Apache-2.0
"""Twenty steps of a ResNet and a VGG on emulated GPUs beside the CPU's, CIFAR-10 pictures, and more orders of streams.

The CIFAR-10 pictures are not part of the project: see long_cifar10.py.
"""
import os
import pathlib
import tarfile

import support
from emulated_gpus import SIMT, GpuCase

SHARED = pathlib.Path(os.environ.get("TRIREME_SHARED", support.ROOT.parent / "shared"))
ARCHIVE = SHARED / "data/cifar10-jpeg.tar.xz"


@support.unittest.skipUnless(SIMT.is_file(), "this build has no trireme-simt")
class TwentySteps(GpuCase):
    def test_a_resnet_follows_the_cpu_for_twenty_steps(self):
        self.pack()
        model = ("--model", "resnet20")
        self.train("cpu", *model, device="cpu", steps=20, batch=8)
        for precision, tolerance in (("fp32", 2e-3), ("bf16", 2e-2)):
            with self.subTest(precision):
                self.train(precision, *model, "--precision", precision, steps=20, batch=8)
                self.assertLossesFollow(precision, "cpu", tolerance)

    def test_a_vgg_follows_the_cpu_for_twenty_steps(self):
        self.pack(size=(8, 8))
        model = ("--model", "vgg16")
        self.train("cpu", *model, device="cpu", steps=20, batch=8)
        for precision, tolerance in (("fp32", 2e-3), ("bf16", 2e-2)):
            with self.subTest(precision):
                self.train(precision, *model, "--precision", precision, steps=20, batch=8)
                self.assertLossesFollow(precision, "cpu", tolerance)

    def test_late_streams_change_nothing(self):
        self.pack()
        settings = ("--model", "resnet20", "--bucket-mb", 0.2, "--accumulate", 2)
        self.train("eager", *settings, ranks=2)
        for seed in range(3, 9):
            with self.subTest(seed=seed):
                self.train(f"lazy{seed}", *settings, "--cuda-graph", ranks=2, env={"SIMT_STREAMS": f"lazy:{seed}"})
                self.assertEqual(self.digest("eager"), self.digest(f"lazy{seed}"))


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


if __name__ == "__main__":
    support.main()
