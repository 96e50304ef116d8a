#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/kernels.md between their marks: what nvcc says of each kernel that resnet50 and vgg16 launch,
how many fit on a multiprocessor, what the layers move and compute, and what a card's ceilings make of that.

    cmake --build --preset release --target cuda_kernels kernel_report && bench/kernels_doc.py build/release
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "kernels/nvcc"))
import usage  # noqa: E402

DOC = ROOT / "docs/kernels.md"
NETWORKS = ("resnet50", "vgg16")


def table(head, rows):
    align = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, align, *rows])


def launches(reports):
    """{(kernel, threads, dynamic shared bytes): counts summed over both networks}, in order of names."""
    found = {}
    for report in reports:
        for one in report["passes"]:
            for kernel in one["kernels"]:
                key = (usage.tidy(kernel["kernel"]), kernel["block_threads"], kernel["dynamic_shared_bytes"])
                sums = found.setdefault(key, dict.fromkeys(SUMMED, 0))
                for name in SUMMED:
                    sums[name] += kernel[name]
    return dict(sorted(found.items()))


SUMMED = ("distinct_bytes", "requested_sectors", "ideal_sectors", "shared_wavefronts", "ideal_wavefronts")


def ratio(above, below):
    return f"{above / below:.2f}" if below else "–"


def kernel_table(reports, compiled):
    rows = []
    for (kernel, threads, shared), sums in launches(reports).items():
        used = [compiled[kernel, arch] for arch in usage.MEASURED]
        occupancy = [f"{100 * usage.occupancy(u, arch, threads, shared):.0f} %" for u, arch in zip(used, usage.MEASURED)]
        rows.append([f"`{kernel}`", threads, " / ".join(str(u.registers) for u in used),
                     f"{max(u.shared for u in used) + shared:,}", " / ".join(occupancy),
                     f"{sums['distinct_bytes'] / 1e6:.1f}", ratio(sums["requested_sectors"], sums["ideal_sectors"]),
                     ratio(sums["shared_wavefronts"], sums["ideal_wavefronts"])])
    head = ["kernel", "threads", "registers", "shared bytes", "occupancy", "MB", "sectors", "conflicts"]
    return table(head, rows)


def layer_table(report):
    layers = {}
    for one in report["passes"]:
        row = layers.setdefault(one["layer"], {"bytes": 0, "flops": 0, "forward": 0, "backward": 0, "bound": set()})
        row["bytes"] += one["bytes_per_image"]
        row["flops"] += one["padded_flops_per_image"]
        is_forward = one["pass"] in ("forward", "statistics", "pack weights", "loss")
        row["forward" if is_forward else "backward"] += one["seconds_per_image"]
    rows = [[f"`{layer}`", f"{row['bytes'] / 1e6:.2f}", f"{row['flops'] / 1e9:.3f}", f"{row['forward'] * 1e6:.2f}",
             f"{row['backward'] * 1e6:.2f}"] for layer, row in layers.items()]
    return table(["layer", "MB an image", "GFLOP an image", "forward, µs", "backward, µs"], rows)


def summary(reports):
    rows = []
    for report in reports:
        flops = sum(one["padded_flops_per_image"] for one in report["passes"])
        rows.append([f"`{report['network']}`", f"{report['bytes_per_image'] / 1e6:.1f}", f"{flops / 1e9:.1f}",
                     f"{report['images_per_second']:,.0f}"])
    return table(["network", "MB an image", "GFLOP an image", "images/s at the ceilings"], rows)


def write(sections):
    text = DOC.read_text(encoding="utf-8")
    for name, content in sections.items():
        pattern = re.compile(rf"(<!-- {name}: made by bench/kernels_doc.py -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        text, count = pattern.subn(lambda found: f"{found[1]}{content}\n{found[2]}", text)
        if count != 1:
            sys.exit(f"{DOC}: no place for '{name}'")
    DOC.write_text(text, encoding="utf-8")


def main():
    build = pathlib.Path(sys.argv[1])
    compiled = usage.of_build(build)
    reports = [json.loads(subprocess.run([build / "kernel_report", name], capture_output=True, text=True, check=True).stdout)
               for name in NETWORKS]
    write({"summary": summary(reports), "kernels": kernel_table(reports, compiled),
           **{name: layer_table(report) for name, report in zip(NETWORKS, reports)}})


if __name__ == "__main__":
    main()
