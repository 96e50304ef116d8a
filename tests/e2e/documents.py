# SPDX-License-Identifier: Apache-2.0
"""Code blocks of the Markdown pages."""
import re

from support import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "src/README.md", ROOT / "tests/README.md"])
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"sh", "console", "python", ""}  # sh and python are run; console is shown only


def blocks(page, language):
    """(line, code) of each block of a language."""
    text = page.read_text()
    return [(text.count("\n", 0, m.start()) + 1, m.group(2)) for m in FENCE.finditer(text) if m.group(1) == language]
