# SPDX-License-Identifier: Apache-2.0
"""What kernel sources may not spell: each has a word in kernels/simt/ that the emulator knows too.

    python3 tests/lint/kernel_rules.py     prints every breach; status 1 if there is one
"""
import pathlib
import re
import sys

import sources

BANNED = {
    r"<<<": "a launch is SIMT_LAUNCH(kernel, grid, block, shared bytes, stream, arguments...)",
    r"\b__shared__\b": "shared memory is SIMT_SHARED or SIMT_DYN_SHARED",
    r"\basm\b": "instructions have wrappers in kernels/simt/device.cuh",
    r"\b__ldg\b|\b__ldcs\b|\b__stcs\b": "global memory is read and written by simt::load, store, load16, store16",
    r"\b__activemask\b": "masks of warp collectives are exact",
    r"#\s*pragma\s+unroll|_Pragma": "loops are unrolled by SIMT_UNROLL",
    r"\bprintf\b": "kernels do not print",
    r"\b(cudaMalloc|cudaFree)\w*": "kernels allocate nothing: workspaces are arguments",
    r"<cooperative_groups|<cuda_runtime\.h>|<cuda/": "kernels include kernels/simt/simt.h",
}
OUTSIDE = ("kernels/simt/", "kernels/reference/")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def breaches(name, text):
    """Messages for one file; comments are not looked at."""
    if not name.startswith("kernels/") or name.startswith(OUTSIDE):
        return []
    code = COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    return [
        f"{name}:{code.count(chr(10), 0, found.start()) + 1}: {found.group()}: {instead}"
        for pattern, instead in BANNED.items()
        for found in re.finditer(pattern, code)
    ]


def main():
    found = []
    for name in sources.cpp_files():
        found += breaches(str(name), (sources.ROOT / pathlib.Path(name)).read_text())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
