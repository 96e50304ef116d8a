# SPDX-License-Identifier: Apache-2.0
"""A kernel that fails its check gets no number, and the benchmark program status 1.

    wrong_kernel.py KERNEL_BENCH
"""
import os
import subprocess
import sys


def main():
    environment = {**os.environ, "TRIREME_BENCH_SMALL": "1", "TRIREME_BENCH_BREAK": "1"}
    done = subprocess.run([sys.argv[1], "--benchmark_filter=broken|add_forward"], env=environment, text=True,
                          capture_output=True, check=False)
    print(done.stdout, done.stderr)
    wrong, right = ([line for line in done.stdout.splitlines() if name in line] for name in ("broken", "add_forward"))
    assert done.returncode == 1, done.returncode
    assert len(wrong) == 1 and "made to fail" in wrong[0] and "GB/s" not in wrong[0], wrong
    assert len(right) == 1 and "GB/s" in right[0], right


if __name__ == "__main__":
    main()
