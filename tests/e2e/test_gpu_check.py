# SPDX-License-Identifier: Apache-2.0
"""bench/gpu_check.sh rehearsed over the emulator: every stage, and what becomes of steps that fail or take too long."""
import json
import pathlib
import sys

import support

sys.path.insert(0, str(support.ROOT / "bench/gpu_check"))
import steps  # pylint: disable=wrong-import-position

BUILD = support.TRIREME.parent
SCRIPT = support.ROOT / "bench/gpu_check.sh"
NEEDED = ("trireme-simt", "golden_check_simt", "kernels_conv2d_test", "kernels_step_test")


@support.unittest.skipUnless(all((BUILD / name).exists() for name in NEEDED), f"no emulated programs in {BUILD}")
class GpuCheck(support.Case):
    def rehearse(self, *options, build=BUILD, status=0):
        done = self.execute([str(SCRIPT), "--rehearse", "--no-build", "--build", str(build), *options], status=status)
        return done.stdout, json.loads((self.folder / "gpu_check_results/results.json").read_text())

    def test_every_stage_runs(self):
        text, results = self.rehearse()
        self.assertTrue(results["ok"])
        self.assertEqual([stage["stage"] for stage in results["stages"]], [1, 2, 3, 4])
        found = {step["name"]: step for stage in results["stages"] for step in stage["steps"]}
        self.assertEqual({step["status"] for step in found.values()}, {"ok"}, text)
        self.assertEqual(found["golden vectors"]["numbers"]["differ"], 0)
        self.assertGreater(found["conv2d tests"]["numbers"]["tests"], 20)
        self.assertGreater(found["layers of resnet20"]["numbers"]["native_ms"], 0)
        self.assertTrue(found["steps of resnet20 with graph"]["numbers"]["cuda_graph"])
        self.assertEqual(found["steps of resnet20 with graph"]["numbers"]["graph_obstacle"], "")
        self.assertEqual(found["steps of resnet20"]["numbers"]["last_loss"],
                         found["steps of resnet20 with graph"]["numbers"]["last_loss"])
        self.assertEqual(found["resnet20 on CIFAR-10"]["numbers"]["total"], 16)
        self.assertIn("all well", text)

    def build_with(self, name, script):
        """The build folder, with another program in place of one."""
        folder = self.folder / "build"
        folder.mkdir()
        for program in (p for p in BUILD.iterdir() if p.is_file() and not p.suffix):
            (folder / program.name).symlink_to(program)
        (folder / name).unlink()
        (folder / name).write_text("#!/usr/bin/env bash\n" + script)
        (folder / name).chmod(0o755)
        return folder

    def test_a_failing_step_stops_nothing_else(self):
        build = self.build_with("kernels_pool2d_test", "echo it broke; exit 3\n")
        text, results = self.rehearse("--stage", "1", "--stage", "4", build=build, status=1)
        self.assertFalse(results["ok"])
        found = {step["name"]: step for stage in results["stages"] for step in stage["steps"]}
        self.assertEqual(found["pool2d tests"]["status"], "FAILED")
        self.assertIn("it broke", found["pool2d tests"]["line"])
        self.assertEqual(found["step tests"]["status"], "ok")
        self.assertEqual(found["resnet20 on CIFAR-10"]["status"], "ok")
        self.assertIn("NOT all well", text)

    def test_a_program_that_is_missing_is_named(self):
        build = self.build_with("golden_check_simt", "exit 0\n")
        (build / "trireme-simt").unlink()
        text, _ = self.rehearse("--stage", "3", build=build, status=1)
        self.assertIn("trireme-simt is not there", text)


class Limits(support.Case):
    """The runner by itself."""

    def test_what_takes_too_long_is_ended(self):
        class Place:
            environment = {}

        def step(name, seconds, **options):
            return steps.Step(name, lambda: ["/bin/sleep", str(seconds)], lambda text: ({}, "done"), **options)

        runner = steps.Runner(Place, pathlib.Path(self.folder))
        plan = [[step("slow", 60, limit=2), step("cut short", 60, limit=2, may_be_late=True)], [step("next", 0)]]
        found = {s["name"]: s["status"] for s in runner.run_stage(1, "sleep", 20, plan)["steps"]}
        self.assertEqual(found, {"slow": steps.LATE, "cut short": steps.SKIPPED, "next": steps.OK})
        late = runner.run_stage(1, "nothing", 0, [[step("never", 0)]])["steps"]
        self.assertEqual(late[0]["status"], steps.LATE)


if __name__ == "__main__":
    support.main()
