# SPDX-License-Identifier: Apache-2.0
"""Rules for every text of ours: SPDX line first, length, no tabs, no trailing blanks, one newline at the end.

    python3 tests/lint/text_rules.py     prints every breach; status 1 if there is one
"""
import sys

import sources

MAX_LINES = 350
CODE = sources.CPP | sources.SCRIPTS
SPDX = "SPDX-License-Identifier: Apache-2.0"
CHECKED = CODE | {".md", ".txt", ".ini"}


def breaches(name, text, is_script=False):
    """Messages for one file."""
    found = []
    lines = text.split("\n")
    is_code = is_script or any(name.endswith(s) for s in CODE) or name.endswith("CMakeLists.txt")
    if is_code:
        head = lines[1:2] if lines[0].startswith("#!") else lines[0:1]
        if not head or SPDX not in head[0]:
            found.append(f"{name}:1: the first line (after #!) must hold '{SPDX}'")
        if len(lines) - 1 > MAX_LINES:
            found.append(f"{name}: {len(lines) - 1} lines; at most {MAX_LINES}: one idea per file")
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            found.append(f"{name}:{number}: tab")
        if line != line.rstrip():
            found.append(f"{name}:{number}: trailing blanks")
    if not text.endswith("\n") or text.endswith("\n\n"):
        found.append(f"{name}: must end with exactly one newline")
    return found


def main():
    scripts = set(sources.script_files())
    found = []
    for name in sources.tracked_files():
        if name.suffix in CHECKED or name in scripts:
            found += breaches(str(name), (sources.ROOT / name).read_text(), name in scripts)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
