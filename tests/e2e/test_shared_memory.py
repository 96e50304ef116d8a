# SPDX-License-Identifier: Apache-2.0
"""A node whose /dev/shm is too small: real, in a mount namespace of the test's own."""
import subprocess
import unittest

import support

MOUNT = 'mount -t tmpfs -o "size=$0" tmpfs /dev/shm && exec "$@"'


def in_small_shm(size, *command):
    """The command line of a command for which /dev/shm has `size` bytes. Nothing else on the machine sees it."""
    return ["unshare", "--mount", "sh", "-c", MOUNT, size, *command]


def can_mount():
    try:
        return subprocess.run(in_small_shm("1m", "true"), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@unittest.skipUnless(can_mount(), "no right to mount a file system in a namespace of its own (unshare --mount)")
class SmallSharedMemory(support.Case):
    def bench(self, shm_size, comm):
        command = support.command_line(
            "bench", "allreduce", "-b", "8M", "-e", "8M", "-n", 1, "-w", 0, "--comm", comm, ranks=2)
        return self.execute(in_small_shm(shm_size, *command))

    def test_the_reason_has_figures_and_another_communicator_takes_over(self):
        result = self.bench("16m", "shm")
        self.assertRegex(
            result.stdout,
            r"shm cannot be used here: /dev/shm of \S+ has 1\d\.\d MiB free, \d\d\.\d MiB are needed for 2 ranks")
        result = self.bench("16m", "auto")
        self.assertRegex(result.stdout, r"(?m)^# (ring|mpi): ", result)

    def test_with_enough_room_it_is_used(self):
        result = self.bench("64m", "shm")
        self.assertNotIn("cannot be used", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^# shm: ", result)


if __name__ == "__main__":
    support.main()
