# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 as 60,000 JPEG files: packed, trained briefly, evaluated with 1, 2 and 3 ranks.

The pictures are not part of the project. TRIREME_SHARED names a folder with data/cifar10-jpeg.tar.xz; without it the
folder `shared` beside the repository is looked at; where neither has it, the test is skipped.
"""
import os
import pathlib
import tarfile

import support

SHARED = pathlib.Path(os.environ.get("TRIREME_SHARED", support.ROOT.parent / "shared"))
ARCHIVE = SHARED / "data/cifar10-jpeg.tar.xz"


@support.unittest.skipUnless(ARCHIVE.is_file(), f"no {ARCHIVE.name}: set TRIREME_SHARED to the folder with data/ in it")
class Cifar10(support.Case):
    def test_the_small_files_problem_in_the_flesh(self):
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(self.folder)
        self.trireme("pack", "cifar10/train", "-o", "train.h5", timeout=600)
        self.trireme("pack", "cifar10/test", "-o", "val.h5", timeout=600)
        self.trireme(
            "train", "--data", "train.h5", "--val", "val.h5", "--model", "resnet20", "--epochs", 1, "--lr", 0.1,
            "--global-batch", 128, "-o", "run", ranks=2, timeout=600,
        )
        found = [self.evaluate("val.h5", "run", ranks) for ranks in (1, 2, 3)]
        self.assertEqual(len({(e["correct"], e["total"], e["loss"]) for e in found}), 1, found)
        self.assertEqual(found[0]["total"], 10000)
        self.assertGreater(found[0]["top1"], 0.45)


if __name__ == "__main__":
    support.main()
