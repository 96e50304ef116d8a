# SPDX-License-Identifier: Apache-2.0
"""The documentation is true: its commands run, its Python reads our files, its links lead somewhere."""
import os
import re
import sys

import documents
import support
from support import make_pictures


class Blocks(support.Case):
    def setUp(self):
        super().setUp()
        make_pictures(self.folder / "pictures/train", classes=3, each=32, size=(32, 32), suffix="jpg")
        make_pictures(self.folder / "pictures/val", classes=3, each=8, size=(32, 32), seed=1)
        self.path = f"{support.TRIREME.resolve().parent}{os.pathsep}{os.environ['PATH']}"

    def run_blocks(self, page, language, *command):
        """Runs the blocks of a page in order, in one folder."""
        found = documents.blocks(support.ROOT / page, language)
        self.assertTrue(found, f"{page} has no {language} block")
        environment = {"PATH": self.path, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        for line, code in found:
            with self.subTest(f"{page}:{line}"):
                self.execute([*command, code], env=environment)

    def test_training_guide(self):
        self.run_blocks("docs/training.md", "sh", "bash", "-euo", "pipefail", "-c")

    def test_exchange(self):
        self.run_blocks("docs/exchange.md", "sh", "bash", "-euo", "pipefail", "-c")

    def test_formats(self):
        self.trireme("pack", "pictures/train", "-o", "train.h5")
        self.trireme(
            "train", "--data", "train.h5", "--model", "resnet20", "--epochs", 1, "--global-batch", 32, "-o", "run"
        )
        self.run_blocks("docs/formats.md", "python", sys.executable, "-c")


class Pages(support.Case):
    def test_every_block_names_a_known_language(self):
        for page in documents.PAGES:
            for language in re.findall(r"^ *```(\S+)$", page.read_text(), re.MULTILINE):
                self.assertIn(language, documents.LANGUAGES, page)

    def test_links_lead_to_files(self):
        for page in documents.PAGES:
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page}: {target}")

    def test_files_and_folders_that_are_named_exist(self):
        pattern = r"`((?:src|data|models|kernels|bench|tests|docs|scripts|cmake)/[\w./-]*|e2e/\w+\.py)`"
        for page in documents.PAGES:
            for name in re.findall(pattern, page.read_text()):
                found = (support.ROOT / name).exists() or (support.ROOT / "tests" / name).exists()
                self.assertTrue(found, f"{page}: {name}")


if __name__ == "__main__":
    support.main()
