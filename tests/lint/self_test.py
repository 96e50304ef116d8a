# SPDX-License-Identifier: Apache-2.0
"""Each lint must be able to fail: every rule is shown a made-up file that breaks it, and one that keeps it."""
import pathlib
import tempfile
import unittest

import include_rules
import kernel_rules
import sources
import text_rules
import tools

GOOD = f"// {text_rules.SPDX}\nint b = 0;\n"


class IncludeRules(unittest.TestCase):
    def check(self, path, line, count):
        self.assertEqual(len(include_rules.violations(path, f"// x\n{line}\n")), count, line)

    def test_an_upward_include_is_found_with_its_line(self):
        found = include_rules.violations("src/core/a.h", '// x\n#include "src/graph/graph.h"\n')
        self.assertEqual(found, ["src/core/a.h:2: src/core may not include src/graph (src/graph/graph.h)"])

    def test_a_sideways_include_is_found(self):
        self.check("data/a.cpp", '#include "src/comm/world.h"', 1)
        self.check("src/device/a.h", '#include "src/device/cpu/cpu_device.h"', 1)
        self.check("models/a.cpp", '#  include "src/train/config.h"', 1)

    def test_a_library_out_of_its_folder_is_found(self):
        self.check("data/a.cpp", "#include <mpi.h>", 1)
        self.check("src/train/a.cpp", "#include <hdf5.h>", 1)

    def test_a_path_that_does_not_start_at_the_root_is_found(self):
        self.check("src/core/a.cpp", '#include "philox.h"', 1)
        self.check("src/train/a.cpp", '#include "tests/support/a.h"', 1)

    def test_allowed_includes_pass(self):
        self.check("src/train/a.cpp", '#include "data/loader.h"', 0)
        self.check("src/comm/a.cpp", "#include <mpi.h>", 0)
        self.check("src/graph/a.cpp", '#include "src/graph/graph.h"', 0)
        self.check("tests/data/a.cpp", '#include "src/train/config.h"', 0)

    def test_the_table_has_no_cycle(self):
        below = {}

        def depth(folder, seen=()):
            self.assertNotIn(folder, seen)
            if folder not in below:
                below[folder] = 1 + max((depth(f, (*seen, folder)) for f in include_rules.ALLOWED[folder]), default=0)
            return below[folder]

        for folder in include_rules.ALLOWED:
            depth(folder)

    def test_every_folder_of_the_program_is_in_the_table(self):
        for name in sources.cpp_files():
            if name.parts[0] not in ("tests", "bench"):
                self.assertIsNotNone(include_rules.folder_of(str(name)), name)


class KernelRules(unittest.TestCase):
    def check(self, line, count, name="kernels/pool2d/a.cu"):
        self.assertEqual(len(kernel_rules.breaches(name, f"// x\n{line}\n")), count, line)

    def test_each_banned_word_is_found_with_its_line(self):
        found = kernel_rules.breaches("kernels/a/b.cu", "// x\nf<<<1, 32>>>();\n")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("kernels/a/b.cu:2: <<<: "))
        for line in ("__shared__ float a[4];", 'asm("bar.sync 0;");', "x = __ldg(p);", "m = __activemask();",
                     "#pragma unroll", 'printf("x");', "cudaMalloc(&p, 4);", "#include <cuda_runtime.h>"):
            self.check(line, 1)

    def test_comments_the_vocabulary_and_other_folders_may(self):
        self.check("// as __shared__ would", 0)
        self.check("/* asm\n */ int a;", 0)
        self.check("__shared__ int a;", 0, "kernels/simt/device.cuh")
        self.check("cudaMalloc(&p, 4);", 0, "tests/kernels/a.cpp")
        self.check("SIMT_SHARED(float, a, 4);", 0)


class TextRules(unittest.TestCase):
    def test_breaches_are_found(self):
        for name, text in {
            "a.cpp": "int main() {}\n",
            "b.h": GOOD + "int a; \n",
            "c.cpp": GOOD + "\tint a;\n",
            "d.py": f"#!/usr/bin/env python3\n# other\n# {text_rules.SPDX}\n",
            "e.cpp": GOOD + "\n",
            "f.cpp": GOOD.rstrip("\n"),
            "g.cpp": GOOD + "int a;\n" * text_rules.MAX_LINES,
            "h.md": "text \n",
            "CMakeLists.txt": "project(x)\n",
        }.items():
            self.assertEqual(len(text_rules.breaches(name, text)), 1, name)

    def test_good_files_pass(self):
        self.assertEqual(text_rules.breaches("a.cpp", GOOD), [])
        self.assertEqual(text_rules.breaches("a.py", f"#!/usr/bin/env python3\n# {text_rules.SPDX}\n"), [])
        self.assertEqual(text_rules.breaches("a.md", "text\n" * 1000), [])


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for settings in (".clang-format", ".clang-tidy"):
            (self.folder / settings).write_text((sources.ROOT / settings).read_text())

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_clang_format_finds_a_badly_laid_out_file(self):
        self.assertTrue(tools.format_complaints([self.write("a.cpp", "int  main( ){return 0;}\n")]))
        self.assertFalse(tools.format_complaints([self.write("b.cpp", GOOD)]))

    def test_clang_tidy_finds_a_use_after_move(self):
        body = "#include <string>\n#include <utility>\nint f(std::string a) {\n  std::string b = std::move(a);\n"
        bad = self.write("a.cpp", body + "  return static_cast<int>(a.size() + b.size());\n}\n")
        good = self.write("b.cpp", body + "  return static_cast<int>(b.size());\n}\n")
        commands = ",".join(
            f'{{"directory": "{self.folder}", "file": "{f}", "command": "g++ -std=c++20 -c {f}"}}' for f in (bad, good)
        )
        self.write("compile_commands.json", f"[{commands}]")
        self.assertIn("use-after-move", tools.tidy_complaints([bad], self.folder))

    def test_bash_finds_a_syntax_error(self):
        self.assertTrue(tools.shell_complaints([self.write("a.sh", "#!/usr/bin/env bash\nif true; then\n")]))
        self.assertFalse(tools.shell_complaints([self.write("b.sh", "#!/usr/bin/env bash\necho hello\n")]))


if __name__ == "__main__":
    unittest.main()
