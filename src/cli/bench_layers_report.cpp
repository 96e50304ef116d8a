// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_layers_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace trireme {
namespace {

std::string cell(const std::optional<double>& value, double unit, int decimals) {
  return value ? fmt::format("{:.{}f}", *value / unit, decimals) : "-";
}

std::optional<double> better(const LayerRow& row) {
  if (!row.native || !row.cudnn) return row.native ? row.native : row.cudnn;
  return std::min(*row.native, *row.cudnn);
}

/// Sum over the network; nothing where a row lacks it.
template <typename Part>
std::optional<double> total(const std::vector<LayerRow>& rows, const Part& part) {
  double sum = 0;
  for (const LayerRow& row : rows) {
    const std::optional<double> one = part(row);
    if (!one) return std::nullopt;
    sum += row.layer.count * *one;
  }
  return sum;
}

struct Totals {
  std::optional<double> native, cudnn, best, ceiling;
};

Totals totals_of(const LayersReport& report) {
  return {total(report.rows, [](const LayerRow& row) { return row.native; }),
          total(report.rows, [](const LayerRow& row) { return row.cudnn; }),
          total(report.rows, [](const LayerRow& row) { return better(row); }),
          total(report.rows, [&](const LayerRow& row) {
            return std::optional(report.ceilings.seconds(row.flops, row.bytes));
          })};
}

Json number(const std::optional<double>& value, double factor) {
  return value ? Json(*value * factor) : Json(nullptr);
}

}  // namespace

double Ceilings::seconds(double flops, double bytes) const {
  return std::max(flops / flops_per_second, bytes / bytes_per_second);
}

std::string layers_heading(const LayersReport& report) {
  return fmt::format(
      "# {} in {}, batch {}, on {}\n"
      "# ceilings: {:.0f} TFLOP/s, {:.0f} GB/s; cuDNN: {}\n"
      "#\n"
      "#{:<23} {:<24} {:>2} {:<16} {:>9} {:>9} {:>8} {:>8}\n"
      "#{:<23} {:<24} {:>2} {:<16} {:>9} {:>9} {:>8} {:>8}\n",
      report.model, report.precision, report.batch, report.device, report.ceilings.flops_per_second * 1e-12,
      report.ceilings.bytes_per_second * 1e-9, report.cudnn_note, "layer", "shape", "n", "pass", "native",
      "cuDNN", "native", "of the", "", "", "", "", "(ms)", "(ms)", "TFLOP/s", "ceiling");
}

std::string layers_row(const LayerRow& row, const Ceilings& ceilings) {
  const bool has_time =
      row.native.value_or(0) > 0;  // what is left of backward may be below the clock's noise
  const std::optional<double> rate = has_time ? std::optional(row.flops / *row.native) : std::nullopt;
  const std::optional<double> share =
      has_time ? std::optional(ceilings.seconds(row.flops, row.bytes) / *row.native) : std::nullopt;
  return fmt::format(
      " {:<23} {:<24} {:>2} {:<16} {:>9} {:>9} {:>8} {:>8}{}\n", row.layer.name, row.layer.text(),
      row.layer.count, row.pass, cell(row.native, 1e-3, 3), cell(row.cudnn, 1e-3, 3), cell(rate, 1e12, 1),
      share ? fmt::format("{:.0f} %", *share * 100) : "-", row.wrong.empty() ? "" : "  WRONG: " + row.wrong);
}

std::string layers_footing(const LayersReport& report) {
  const Totals totals = totals_of(report);
  return fmt::format(
      "#\n# all layers of the network: native {} ms, cuDNN {} ms, the better of both {} ms, at the ceilings "
      "{} ms\n",
      cell(totals.native, 1e-3, 2), cell(totals.cudnn, 1e-3, 2), cell(totals.best, 1e-3, 2),
      cell(totals.ceiling, 1e-3, 2));
}

Json layers_json(const LayersReport& report) {
  constexpr double kMilliseconds = 1e3;
  Json rows = Json::array();
  for (const LayerRow& row : report.rows)
    rows.push_back(Json{{"layer", row.layer.name},
                        {"shape", row.layer.text()},
                        {"count", row.layer.count},
                        {"pass", row.pass},
                        {"flops", row.flops},
                        {"bytes", row.bytes},
                        {"native_ms", number(row.native, kMilliseconds)},
                        {"cudnn_ms", number(row.cudnn, kMilliseconds)},
                        {"ceiling_ms", report.ceilings.seconds(row.flops, row.bytes) * kMilliseconds},
                        {"wrong", row.wrong}});
  const Totals totals = totals_of(report);
  return Json{{"bench", "layers"},
              {"model", report.model},
              {"device", report.device},
              {"precision", report.precision},
              {"batch", report.batch},
              {"peak_tflops", report.ceilings.flops_per_second * 1e-12},
              {"bandwidth_gbs", report.ceilings.bytes_per_second * 1e-9},
              {"cudnn", report.cudnn_note},
              {"native_ms", number(totals.native, kMilliseconds)},
              {"cudnn_ms", number(totals.cudnn, kMilliseconds)},
              {"best_ms", number(totals.best, kMilliseconds)},
              {"ceiling_ms", number(totals.ceiling, kMilliseconds)},
              {"rows", rows}};
}

}  // namespace trireme
