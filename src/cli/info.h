// SPDX-License-Identifier: Apache-2.0
// What `trireme info` tells, one kind of thing per file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/command.h"
#include "src/core/error.h"
#include "src/train/setting.h"

namespace trireme {

struct InfoRequest {
  std::string path;  ///< a file or a folder; empty: this build
  bool verify = false, digest = false;
};

const std::vector<SettingOf<InfoRequest>>& info_settings();
/// Reads the command line; status 64 if it is wrong.
InfoRequest read_info_request(const std::vector<std::string>& arguments);

/// Prints "heading        text" on standard output.
void print_row(std::string_view heading, std::string_view text);

/// This build and this machine; under a launcher also the ranks and their hosts.
Status tell_about_build(const Invocation& invocation);
/// A packed file. With `verify` 65 if pictures are damaged.
void tell_about_dataset(const InfoRequest& request);
/// A checkpoint file; 65 if it is damaged.
void tell_about_checkpoint(const InfoRequest& request);
/// The folder of a run. With `verify` 65 if one of its checkpoints is damaged.
void tell_about_run(const InfoRequest& request);

/// Digest over the weights of a checkpoint file, or of a run's latest checkpoint: 16 hexadecimal digits.
std::string digest_text(const std::string& path);

/// "rank 0-3 on a, 4-7 on b": hosts in the order of their first rank.
std::string ranks_text(const std::vector<std::string>& hosts_by_rank);
/// The last whole "eval" object of a log.jsonl as "epoch=3 top1=0.9132 loss=0.2871"; empty if there is none.
std::string last_evaluation(std::string_view log);

}  // namespace trireme
