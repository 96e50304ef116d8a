#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the JUnit file of CTest: prints "PASSED FAILED SKIPPED" on standard output, and on standard error the name of
each skipped test and, for each test that failed, the command that reruns it alone. The same commands, each with the end
of what its test printed, are added to FAILURES, so that they can be told once more after the last build's output.

    scripts/test_report.py BUILD_FOLDER FAILURES
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml


LAST_LINES = 80


def outcomes(report):
    """Cases by outcome. A test without its program, and a disabled one, count as failed: nothing is silently off."""
    cases = {"passed": [], "failed": [], "skipped": []}
    for case in xml.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.get("status") == "run":
            outcome = "passed"
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            outcome = "skipped"
        else:
            outcome = "failed"
        cases[outcome].append(case)
    return cases


def rerun(build, case):
    return f"rerun: ctest --test-dir {build} --output-on-failure -R '^{re.escape(case.get('name'))}$'"


def last_lines(case):
    printed = case.find("system-out")
    lines = (printed.text or "").splitlines() if printed is not None else []
    return lines[-LAST_LINES:]


def main():
    build = pathlib.Path(sys.argv[1])
    report = build / "test-report.xml"
    if not report.exists():
        print("0 0 0")
        return
    cases = outcomes(report)
    for case in cases["skipped"]:
        print(f"skipped: {case.get('name')}", file=sys.stderr)
    with open(sys.argv[2], "a", encoding="utf-8") as failures:
        for case in cases["failed"]:
            print(rerun(build, case), file=sys.stderr)
            print(f"\nfailed: {case.get('name')}", *last_lines(case), rerun(build, case), sep="\n", file=failures)
    print(*(len(cases[outcome]) for outcome in ("passed", "failed", "skipped")))


if __name__ == "__main__":
    main()
