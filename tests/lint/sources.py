# SPDX-License-Identifier: Apache-2.0
"""Which files the lints look at."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("kernels", "models", "data", "src", "bench", "tests")
CPP = {".cpp", ".h", ".cu", ".cuh"}
SCRIPTS = {".sh", ".py", ".cmake"}


def tracked_files():
    """Files that git knows or would add, relative to the root; all files where there is no git (a release archive)."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )
    if listing.returncode == 0:
        names = [pathlib.Path(n) for n in listing.stdout.split("\0") if n]
    else:
        names = [p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file()]
        names = [n for n in names if n.parts[0] not in ("build", ".git", ".cache")]
    return sorted({n for n in names if (ROOT / n).is_file()})


def cpp_files():
    return [n for n in tracked_files() if n.suffix in CPP and n.parts[0] in CODE_FOLDERS]


def script_files():
    """Shell scripts, with or without a suffix."""
    return [n for n in tracked_files() if n.suffix in ("", ".sh") and first_line(n).startswith("#!/usr/bin/env bash")]


def first_line(name):
    with open(ROOT / name, "rb") as file:
        return file.readline(200).decode("utf-8", "replace").rstrip("\n")
