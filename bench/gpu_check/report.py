# SPDX-License-Identifier: Apache-2.0
"""The table and the JSON file at the end."""
import json
import platform
import subprocess
import time

import places
import steps

BAD = (steps.FAILED, steps.LATE)


def output_of(command, environment=None):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{error}"
    return (done.stdout or done.stderr).strip()


def program_facts(place):
    """What `trireme info` says."""
    try:
        return output_of([*place.trireme(), "info"], place.environment)
    except places.Missing as missing:
        return str(missing)


def machine_facts(place):
    query = "--query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit"
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "gpu": "emulated" if place.emulated else output_of(["nvidia-smi", query, "--format=csv,noheader"]),
        "programs": place.where,
        "info": program_facts(place),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def finish(place, stages, output):
    """Prints the table, writes results.json and gives the exit status."""
    facts = machine_facts(place)
    all_steps = [step for stage in stages for step in stage["steps"]]
    is_well = bool(all_steps) and not any(step["status"] in BAD for step in all_steps)
    print(f"\n{facts['gpu']} on {facts['host']}, {facts['time']}\n")
    print(f"{'stage':<6} {'step':<34} {'status':<11} {'seconds':>8}  what")
    for stage in stages:
        for step in stage["steps"]:
            print(f"{stage['stage']:<6} {step['name']:<34} {step['status']:<11} {step['seconds']:>8.1f}  {step['line']}")
    seconds = sum(stage["seconds"] for stage in stages)
    print(f"\n{'all well' if is_well else 'NOT all well'}, {seconds:.0f} s; {output / 'results.json'}")
    (output / "results.json").write_text(
        json.dumps({"machine": facts, "ok": is_well, "seconds": seconds, "stages": stages}, indent=1) + "\n")
    return 0 if is_well else 1
