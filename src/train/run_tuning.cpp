// SPDX-License-Identifier: Apache-2.0
#include "src/train/run_tuning.h"

#include <nlohmann/json.hpp>

#include "src/core/error.h"
#include "src/io/atomic_file.h"
#include "src/io/path.h"

namespace trireme {

using nlohmann::json;

std::string run_tuning_text(const RunTuning& tuning) {
  json object{{"comm", tuning.comm},
              {"topology", tuning.topology},
              {"messages", json::parse(tuning_text(tuning.messages))}};
  if (!tuning.engines.empty()) object["engines"] = tuning.engines;
  return object.dump();
}

RunTuning parse_run_tuning(std::string_view text) {
  try {
    const json object = json::parse(text);
    return {object.at("comm"), object.at("topology"), parse_tuning(object.at("messages").dump()),
            object.value("engines", "")};
  } catch (const json::exception& error) {
    throw make_error(Status::bad_data, "not the tuning of a run: {}", error.what());
  }
}

RunTuning read_run_tuning(const std::string& path) {
  if (!path_exists(path)) throw make_error(Status::input_missing, "no such file").at(path).at("--tuning");
  try {
    return parse_run_tuning(read_text(path));
  } catch (const Error& error) {
    throw Error(error).at(path).at("--tuning");
  }
}

}  // namespace trireme
