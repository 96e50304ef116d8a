// SPDX-License-Identifier: Apache-2.0
#include "src/core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

namespace trireme::log {

void setup(int rank, int world_size) {
  auto logger =
      std::make_shared<spdlog::logger>("trireme", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern(world_size > 1 && rank != 0 ? fmt::format("%H:%M:%S [rank {}] %^%l%$ %v", rank)
                                                  : "%H:%M:%S %^%l%$ %v");
  logger->set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace trireme::log
