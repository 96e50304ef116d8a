#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes resize_golden.h: what Pillow's BILINEAR resize makes of pictures that resize_test.cpp makes anew.

Run with a Python that has numpy and Pillow; the result does not depend on their versions.
"""
import pathlib

import numpy as np
from PIL import Image

# source height, width, channels, then height and width of the result
CASES = [
    (7, 5, 3, 14, 10),
    (40, 31, 3, 8, 9),
    (17, 23, 1, 9, 23),
    (17, 23, 1, 17, 11),
    (64, 48, 3, 13, 10),
    (33, 20, 1, 11, 31),
    (3, 3, 1, 1, 1),
    (1, 1, 3, 4, 4),
    (2, 300, 1, 3, 7),
]


def source_picture(height, width, channels):
    """Noise with a mean that changes over the picture; the test has the same formula."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    index = (y * width + x) * channels + c
    noise = (index.astype(np.uint64) * 2654435761 % 2**32) >> 24
    return ((noise + 3 * y + 2 * x + 80 * c) % 256).astype(np.uint8)


def main():
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Made by make_resize_golden.py: do not edit.",
        "// clang-format off",
        "#pragma once",
        "",
        "#include <string_view>",
        "",
        "namespace trireme {",
        "",
        "struct ResizeGolden {",
        "  int source_height, source_width, channels, height, width;",
        "  std::string_view pixels;  ///< two hexadecimal digits for each level, HWC",
        "};",
        "",
        "inline constexpr ResizeGolden kResizeGolden[] = {",
    ]
    for height, width, channels, new_height, new_width in CASES:
        pixels = source_picture(height, width, channels)
        image = Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels)
        text = np.asarray(image.resize((new_width, new_height), Image.BILINEAR)).tobytes().hex()
        lines.append(f"    {{{height}, {width}, {channels}, {new_height}, {new_width},")
        pieces = [text[at : at + 96] for at in range(0, len(text), 96)]
        lines += [f'     "{piece}"' for piece in pieces]
        lines[-1] += "},"
    lines += ["};", "", "}  // namespace trireme", ""]
    (pathlib.Path(__file__).parent / "resize_golden.h").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
