# SPDX-License-Identifier: Apache-2.0
"""trireme bench allreduce: its table, its JSON lines, and what it refuses."""
import json
import re

import support

COMMUNICATORS = ["hierarchical", "mpi", "ring", "shm"]
RESNET50_BYTES = 25557032 * 4


class AllReduce(support.Case):
    def bench(self, *arguments, **options):
        return self.trireme("bench", "allreduce", *arguments, **options)

    def rows(self, result):
        return [line.split() for line in result.stdout.splitlines() if not line.startswith("#")]

    def test_the_table_has_every_communicator_and_no_wrong_sum(self):
        for ranks in (3, 4):
            with self.subTest(ranks=ranks):
                result = self.bench("-e", "4M", "-f", "4", ranks=ranks)
                sizes = [8 * 4**i for i in range(10)]  # 8 B to 2 MiB
                rows = self.rows(result)
                self.assertEqual([int(row[0]) for row in rows], sizes * len(COMMUNICATORS), result)
                for size, count, kind, time_us, algorithm, bus, wrong in rows:
                    self.assertEqual((int(size), kind, wrong), (4 * int(count), "f32", "0"), result)
                    self.assertGreater(float(time_us), 0)
                    factor = 2 * (ranks - 1) / ranks
                    self.assertAlmostEqual(float(bus), float(algorithm) * factor, delta=0.002)
                blocks = re.findall(r"(?m)^# (\w+): ", result.stdout)
                self.assertEqual(sorted(blocks), COMMUNICATORS, result)
                last = result.stdout.splitlines()[-1]
                self.assertEqual(sorted(re.findall(r"(\w+) [\d.]+", last.split(":")[1])), COMMUNICATORS)
                self.assertRegex(result.stdout, rf"(?m)^# memcpy of {ranks} ranks at once .* GB/s$")

    def test_json_has_an_object_for_each_row(self):
        result = self.bench("-b", "64K", "-e", "128K", "-n", 3, "--comm", "ring,mpi", "--json", ranks=2)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        found = [(row["comm"], row["bytes"], row["rounds"]) for row in rows]
        self.assertEqual(found, [(comm, size, 3) for comm in ("ring", "mpi") for size in (65536, 131072)])
        for row in rows:
            self.assertEqual(row["wrong"], 0)
            self.assertAlmostEqual(row["alg_bandwidth"], row["bytes"] / row["time_us"] * 1e-3, places=9)
            self.assertAlmostEqual(row["bus_bandwidth"], row["alg_bandwidth"], places=9)  # 2(n-1)/n is 1
            self.assertGreater(row["memcpy_bandwidth"], 0)

    def test_gradients_of_networks_are_among_the_sizes(self):
        result = self.bench("-b", "90M", "-e", "100M", "-n", 1, "-w", 0, "--comm", "shm", "--json", ranks=2)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(row["bytes"], row["note"]) for row in rows], [(90 << 20, ""), (RESNET50_BYTES, "resnet50")])

    def test_one_rank_has_no_traffic(self):
        self.assertIn("no traffic", self.bench().stdout)
        result = self.bench("--json", ranks=1)
        self.assertEqual(result.stdout, "")
        self.assertIn("no traffic", result.stderr)

    def test_rank_zero_speaks_alone(self):
        self.assertEqual(self.bench("--help", ranks=2).stdout, self.bench("--help").stdout)
        self.assertOneMessage(self.bench("--end", "4Q", ranks=2, status=64), "--end", "'4Q' is not a size")

    def test_what_does_not_fit_memory_is_refused(self):
        result = self.bench("--end", "60000G", ranks=2, status=78)
        self.assertOneMessage(result, "--end", "memory that is free", "hint: ")


if __name__ == "__main__":
    support.main()
