#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the JUnit file of CTest: prints "PASSED FAILED SKIPPED" on standard output, and on standard error the name of
each skipped test and, for each test that failed, the command that reruns it alone.

    scripts/test_report.py BUILD_FOLDER
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml


def outcomes(report):
    """Names by outcome. A test without its program, and a disabled one, count as failed: nothing is silently off."""
    names = {"passed": [], "failed": [], "skipped": []}
    for case in xml.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.get("status") == "run":
            outcome = "passed"
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            outcome = "skipped"
        else:
            outcome = "failed"
        names[outcome].append(case.get("name"))
    return names


def main():
    build = pathlib.Path(sys.argv[1])
    report = build / "test-report.xml"
    if not report.exists():
        print("0 0 0")
        return
    names = outcomes(report)
    for name in names["skipped"]:
        print(f"skipped: {name}", file=sys.stderr)
    for name in names["failed"]:
        print(f"rerun: ctest --test-dir {build} --output-on-failure -R '^{re.escape(name)}$'", file=sys.stderr)
    print(*(len(names[outcome]) for outcome in ("passed", "failed", "skipped")))


if __name__ == "__main__":
    main()
