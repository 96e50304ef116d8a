# SPDX-License-Identifier: Apache-2.0
"""The scripts around the program: options, missing packages, and how failures are counted."""
import shutil

import support

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(sample NONE)
enable_testing()
add_test(NAME good COMMAND true)
add_test(NAME bad.one COMMAND sh -c "echo what bad.one printed; exit 1")
add_test(NAME missing COMMAND nowhere)
add_test(NAME skipped COMMAND sh -c "exit 77")
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)
"""


class Commands(support.Case):
    def script(self, name, *arguments, **options):
        return self.execute([str(support.ROOT / name), *arguments], **options)

    def test_help_and_unknown_options(self):
        for name in ("quickstart.sh", "test.sh"):
            self.assertIn("usage:", self.script(name, "--help").stdout)
            self.assertIn("--nonesuch", self.script(name, "--nonesuch", status=64).stderr)
        self.script("test.sh", "--filter", status=64)

    def test_missing_packages_are_listed(self):
        script = f"""
            source {support.ROOT}/scripts/packages.sh
            packages_demo="nonesuch-a dpkg nonesuch-b"
            install_packages no demo"""
        result = self.execute(["bash", "-c", script], status=78)
        self.assertIn("missing packages: nonesuch-a nonesuch-b\n", result.stderr)

    def test_an_unknown_group_is_refused(self):
        self.script("scripts/packages.sh", "--no-install", "nonesuch", status=64)

    def test_services_do_not_start_while_packages_are_installed(self):
        script = f"""
            source {support.ROOT}/scripts/packages.sh
            sudo() {{ "$@"; }}
            services_policy=$PWD/policy
            without_services ./policy && exit 1
            [ $? -eq 101 ] && [ ! -e policy ] || exit 2
            echo mine > policy
            without_services cat policy"""
        self.assertEqual(self.execute(["bash", "-c", script]).stdout, "mine\n")
        self.assertEqual((self.folder / "policy").read_text(), "mine\n")

    def test_nothing_is_installed_when_all_is_there(self):
        script = f"""
            source {support.ROOT}/scripts/packages.sh
            packages_demo="dpkg bash"
            apt-get() {{ echo called; return 1; }}
            sudo() {{ echo called; return 1; }}
            install_packages yes demo"""
        self.assertEqual(self.execute(["bash", "-c", script]).stdout, "")


@support.unittest.skipUnless(shutil.which("ctest"), "no ctest")
class Report(support.Case):
    def test_outcomes_are_counted_and_failures_can_be_rerun(self):
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        self.execute(["cmake", "-G", "Ninja", "-B", "build", "."])
        self.execute(["ctest", "--test-dir", "build", "--output-junit", "test-report.xml"], status=8)
        result = self.execute([str(support.ROOT / "scripts/test_report.py"), "build", "failures"])
        self.assertEqual(result.stdout, "1 2 1\n")
        self.assertIn(r"rerun: ctest --test-dir build --output-on-failure -R '^bad\.one$'", result.stderr)
        self.assertIn("skipped: skipped", result.stderr)
        failures = (self.folder / "failures").read_text()
        self.assertIn("failed: bad.one\nwhat bad.one printed\nrerun: ctest", failures)
        self.execute(["ctest", "--test-dir", "build", "-R", r"^bad\.one$"], status=8)

    def test_no_report_is_no_test(self):
        (self.folder / "build").mkdir()
        self.assertEqual(self.execute([str(support.ROOT / "scripts/test_report.py"), "build", "failures"]).stdout,
                         "0 0 0\n")


if __name__ == "__main__":
    support.main()
