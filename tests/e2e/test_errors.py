# SPDX-License-Identifier: Apache-2.0
"""Exit statuses, and one message from one rank."""
import h5py
import numpy as np

import support
from support import make_pictures


class Errors(support.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()

    def setUp(self):
        super().setUp()
        make_pictures(self.folder / "pictures", classes=3, each=8)

    def pack(self, source="pictures", output="data.h5", *more, **options):
        return self.trireme("pack", source, "-o", output, *more, **options)

    def train(self, *more, ranks=2, **options):
        return self.trireme("train", "--model", "resnet20", "--global-batch", 8, "-o", "run", *more, ranks=ranks, **options)

    # 64: the command line
    def test_an_unknown_flag_names_the_nearest(self):
        self.assertOneMessage(self.train("--data", "x.h5", "--epoch", 3, status=64), "--epochs")

    def test_a_flag_given_twice(self):
        self.assertOneMessage(self.train("--data", "a.h5", "--data", "b.h5", status=64), "data")

    def test_a_number_that_is_none(self):
        for word in ("3x", "0x3", "nan", "1,5", ""):
            self.assertOneMessage(self.train("--data", "x.h5", f"--lr={word}", status=64, ranks=None), "lr")

    def test_an_unknown_command_names_the_nearest(self):
        self.assertOneMessage(self.trireme("tran", status=64, ranks=2), "train")

    def test_help_comes_once(self):
        for arguments in (("--help",), ("train", "--help"), ("pack", "--help"), ("eval", "--help"), ("info", "--help")):
            self.assertEqual(self.trireme(*arguments, ranks=2).stdout.count("usage:"), 1)
        self.assertRegex(self.trireme("--version").stdout, r"^trireme \d+\.\d+\.\d+\n$")

    # 65: the data
    def test_a_damaged_picture_stops_the_pack(self):
        victim = self.folder / "pictures/class1/0003.png"
        victim.write_bytes(victim.read_bytes()[:100])
        self.assertOneMessage(self.pack(status=65), "class1/0003.png")
        self.assertFalse((self.folder / "data.h5").exists())
        result = self.pack("pictures", "data.h5", "--on-error", "skip")
        self.assertIn("1 damaged file", result.stdout + result.stderr)

    def test_pictures_of_other_sizes_are_named(self):
        make_pictures(self.folder / "odd", classes=1, each=1, size=(20, 16))
        (self.folder / "odd/class0/0000.png").rename(self.folder / "pictures/class2/9999.png")
        self.assertOneMessage(self.pack(status=65), "9999.png", "--")
        self.pack("pictures", "data.h5", "--size", "16x16")

    def test_a_label_out_of_range(self):
        self.pack()
        with h5py.File(self.folder / "data.h5", "r+") as file:
            file["labels"][5] = 3
        self.assertOneMessage(self.train("--data", "data.h5", status=65), "data.h5", "label")

    def test_a_file_that_is_not_hdf5(self):
        (self.folder / "data.h5").write_text("no pictures here\n")
        self.assertOneMessage(self.train("--data", "data.h5", status=65), "data.h5")

    def test_other_classes_in_the_validation_data(self):
        self.pack()
        (self.folder / "pictures/class2").rename(self.folder / "pictures/other")
        self.pack("pictures", "val.h5")
        self.assertOneMessage(self.train("--data", "data.h5", "--val", "val.h5", status=65), "class2", "other")

    # 66: nothing there
    def test_a_missing_file(self):
        self.assertOneMessage(self.train("--data", "absent.h5", status=66), "absent.h5")
        self.assertOneMessage(self.pack("absent", status=66), "absent")
        self.assertOneMessage(
            self.trireme("eval", "--data", "synthetic:16x16x3:3:9", "--checkpoint", "absent", ranks=2, status=66), "absent"
        )

    # 73: the output
    def test_outputs_are_not_overwritten(self):
        self.pack()
        self.assertOneMessage(self.pack(status=73), "data.h5", "--force")
        self.pack("pictures", "data.h5", "--force")

    def test_an_output_in_a_folder_that_is_none(self):
        (self.folder / "file").write_text("")
        self.assertOneMessage(self.pack("pictures", "file/data.h5", status=73), "file/data.h5")
        self.pack()
        result = self.trireme(
            "train", "--data", "data.h5", "--model", "resnet20", "--global-batch", 8, "-o", "file/run", ranks=2, status=73
        )
        self.assertOneMessage(result, "file/run")

    # 78: the settings
    def test_a_misspelt_variable_of_the_environment(self):
        result = self.train("--data", "synthetic:16x16x3:3:64", status=78, env={"TRIREME_GLOBAL_BACH": "4"})
        self.assertOneMessage(result, "TRIREME_GLOBAL_BATCH")

    def test_a_misspelt_key_in_an_ini_file(self):
        (self.folder / "run.ini").write_text("epochs=1\nmomentun=0.9\n")
        result = self.train("--data", "synthetic:16x16x3:3:64", "--config", "run.ini", status=78)
        self.assertOneMessage(result, "momentum", "run.ini")

    def test_fewer_ranks_than_expected(self):
        result = self.train("--data", "synthetic:16x16x3:3:64", "--expect-ranks", 3, status=78)
        self.assertOneMessage(result, "3")

    def test_a_world_of_one_under_a_launcher_that_promised_two(self):
        result = self.train(
            "--data", "synthetic:16x16x3:3:64", ranks=None, status=78, env={"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
        )
        self.assertOneMessage(result, "MPI")

    def test_more_ranks_than_pictures_in_a_step(self):
        self.train("--data", "synthetic:16x16x3:3:64", "--global-batch", 2, "--steps", 2, status=None, ranks=4)

    def test_pack_under_mpirun(self):
        self.assertEqual(self.trireme("pack", "pictures", "-o", "data.h5", ranks=2, status=78).status, 78)


class Numbers(support.Case):
    def test_packing_is_the_same_at_any_number_of_threads(self):
        make_pictures(self.folder / "pictures", classes=3, each=40, suffix="jpg")
        for encoding in ("raw", "jpeg"):
            files = []
            for threads in (1, 2, 5):
                name = f"{encoding}{threads}.h5"
                self.trireme("pack", "pictures", "-o", name, "--encode", encoding, "--threads", threads)
                files.append((self.folder / name).read_bytes())
            self.assertEqual(files[0], files[1])
            self.assertEqual(files[0], files[2])

    def test_verify_finds_a_flipped_bit(self):
        make_pictures(self.folder / "pictures", classes=3, each=5)
        self.trireme("pack", "pictures", "-o", "data.h5")
        self.trireme("info", "data.h5", "--verify")
        with h5py.File(self.folder / "data.h5", "r+") as file:
            file["images"][7, 3, 3, 0] = np.bitwise_xor(file["images"][7, 3, 3, 0], 1)
        self.assertOneMessage(self.trireme("info", "data.h5", "--verify", status=65), "7")


if __name__ == "__main__":
    support.main()
