// SPDX-License-Identifier: Apache-2.0
// The table of `trireme bench allreduce` and its JSON lines, as text. Bandwidths are in GB/s of 1e9 bytes.
#pragma once

#include <span>
#include <string>

#include "src/cli/bench_rounds.h"
#include "src/train/json_log.h"

namespace trireme {

/// What stands above all tables.
struct BenchSetting {
  int ranks = 0, nodes = 0;
  int ranks_of_node = 0;        ///< ranks on rank 0's node
  double memcpy_bandwidth = 0;  ///< bytes per second that these copy at once
  BenchRounds rounds;
};

std::string bench_heading(const BenchSetting& setting);
/// Communicator::description() and the column headings of its table.
std::string table_heading(std::string_view description);
std::string table_row(const AllReduceRow& row);
/// What stands below one communicator's table: which rows had fewer rounds than asked for; may be empty.
std::string table_footing(std::span<const AllReduceRow> rows, const BenchRounds& asked);
/// The last line of all: the average bus bandwidth of each communicator, in the order of their first rows.
std::string averages_line(std::span<const AllReduceRow> rows);

Json json_row(const AllReduceRow& row, const BenchSetting& setting);

}  // namespace trireme
