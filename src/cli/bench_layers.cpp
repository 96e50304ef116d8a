// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_layers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "src/cli/bench_layers_case.h"
#include "src/cli/bench_layers_report.h"
#include "src/cli/bench_train_network.h"
#include "src/cli/command.h"
#include "src/cli/failure.h"
#include "src/core/log.h"
#include "src/io/atomic_file.h"
#include "src/train/compute.h"
#include "src/train/device_names.h"

namespace trireme {
namespace {

constexpr std::chrono::duration<double> kTimeout = std::chrono::minutes(1);

/// Results of a precision may differ from fp32's by this share of the largest.
double tolerance(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 1.0 / 128;
    case Precision::fp16:
      return 1.0 / 1024;
    case Precision::tf32:
    case Precision::fp32:
      break;
  }
  return 1e-4;
}

std::string difference(const char* what, const std::vector<float>& found, const std::vector<float>& expected,
                       double limit) {
  if (found.size() != expected.size()) return fmt::format("{} has another size", what);
  double largest = 0, most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    const double off = std::abs(static_cast<double>(found[i]) - expected[i]);
    most = std::isfinite(off) ? std::max(most, off) : std::numeric_limits<double>::infinity();
  }
  if (most <= limit * largest) return "";
  return fmt::format("{} is off by {:.2g} of its largest value", what, most / largest);
}

void add_finding(std::string& findings, const std::string& who, const std::string& finding) {
  if (finding.empty()) return;
  findings += fmt::format("{}{}: {}", findings.empty() ? "" : "; ", who, finding);
}

void show(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

class LayersBench {
 public:
  LayersBench(const LayersBenchConfig& config, const Compute& compute, const CorePlan& cores)
      : config_(config),
        precision_(compute.kind == DeviceKind::cuda ? compute.cuda.precision : Precision::fp32),
        cpu_(make_device({}, cores)) {
    native_ = make_device(compute, cores);
    report_.cudnn_note = "only on GPUs";
    if (compute.kind == DeviceKind::cuda) make_cudnn(compute, cores);
    report_.model = config.model;
    report_.device = native_->description();
    report_.precision = precision_name(precision_);
    report_.batch = config.batch;
    report_.ceilings = {config.peak_teraflops * 1e12, config.bandwidth_gigabytes * 1e9};
  }

  Status run() {
    const Graph graph = bench_network(config_.model, config_.image_size, config_.classes);
    show(layers_heading(report_));
    for (const BenchLayer& layer : bench_layers(graph, config_.only)) measure(layer);
    show(layers_footing(report_));
    if (!config_.json.empty()) write_text_atomically(config_.json, layers_json(report_).dump(1) + "\n");
    if (std::ranges::all_of(report_.rows, [](const LayerRow& row) { return row.wrong.empty(); }))
      return Status::ok;
    throw make_error(Status::internal, "wrong results")
        .hint("the rows marked WRONG; a fault of the device or of this program");
  }

 private:
  void make_cudnn(const Compute& compute, const CorePlan& cores) {
    Compute with_cudnn = compute;
    with_cudnn.cuda.engine = Engine::cudnn;
    report_.cudnn_note = compute.facts.cudnn;
    try {
      cudnn_ = make_device(with_cudnn, cores);
    } catch (const Error& error) {
      const std::string_view message = error.what();
      report_.cudnn_note = message.substr(0, message.find('\n'));  // the hint is for those who asked for it
    }
  }

  /// Each engine's results for a small batch against the CPU's, and its case for the timing.
  struct Contender {
    Device* device;
    const char* name;
    std::optional<double> LayerRow::*seconds;
  };
  std::vector<Contender> contenders() const {
    std::vector<Contender> all{{native_.get(), "native", &LayerRow::native}};
    if (cudnn_) all.push_back({cudnn_.get(), "cuDNN", &LayerRow::cudnn});
    return all;
  }

  LayerRow blank_row(const BenchLayer& layer, const char* pass) const {
    LayerRow row;
    row.layer = layer;
    row.pass = pass;
    row.flops = layer.flops() * static_cast<double>(config_.batch);
    return row;
  }

  void measure(const BenchLayer& layer) {
    constexpr std::int64_t kSmallBatch = 2;
    const std::int64_t small_batch = std::min(kSmallBatch, config_.batch);
    LayerRow forward = blank_row(layer, "forward"), data = blank_row(layer, "backward data"),
             weights = blank_row(layer, "backward weights");
    const LayerResults expected = on_cpu(layer, small_batch);
    for (const Contender& contender : contenders()) {
      LayerCase small(*contender.device, layer, small_batch);
      const LayerResults found = compute_small(small, layer, small_batch);
      const double limit = tolerance(precision_);
      add_finding(forward.wrong, contender.name, difference("y", found.y, expected.y, limit));
      add_finding(data.wrong, contender.name, difference("dx", found.dx, expected.dx, limit));
      add_finding(weights.wrong, contender.name,
                  difference("dweights", found.dweights, expected.dweights, limit));
      add_finding(weights.wrong, contender.name, difference("dbias", found.dbias, expected.dbias, limit));

      LayerCase large(*contender.device, layer, config_.batch);
      large.fill_values(small);
      forward.*contender.seconds = large.time([&] { large.forward(); }, config_.seconds);
      const double of_weights = large.time([&] { large.backward(false); }, config_.seconds);
      weights.*contender.seconds = of_weights;
      if (layer.has_input_gradient) {
        const double both = large.time([&] { large.backward(true); }, config_.seconds);
        data.*contender.seconds = std::max(both - of_weights, 0.0);
      }
      forward.bytes = data.bytes = weights.bytes = large.bytes();
    }
    add_row(forward);
    if (layer.has_input_gradient) add_row(data);
    add_row(weights);
  }

  LayerResults on_cpu(const BenchLayer& layer, std::int64_t batch) const {
    LayerCase small(*cpu_, layer, batch);
    return compute_small(small, layer, batch);
  }

  static LayerResults compute_small(LayerCase& small, const BenchLayer& layer, std::int64_t batch) {
    small.fill_parameters(exact_numbers(layer.weights(), 1),
                          exact_numbers(layer.output[layer.output.rank() - 1], 2));
    small.fill_values(exact_numbers(batch * layer.input.count(), 3),
                      exact_numbers(batch * layer.output.count(), 4));
    small.forward();
    small.backward(layer.has_input_gradient);
    return small.results();
  }

  void add_row(const LayerRow& row) {
    show(layers_row(row, report_.ceilings));
    report_.rows.push_back(row);
  }

  const LayersBenchConfig& config_;
  Precision precision_;
  std::unique_ptr<Device> cpu_, native_, cudnn_;
  LayersReport report_;
};

}  // namespace

Status run_bench_layers(const Invocation& invocation) {
  const LayersBenchConfig config = read_layers_bench(invocation.arguments);
  const auto body = [&](const World& world) {
    check_one_rank(world, "layers");
    log::setup(world.rank(), world.size());
    const CoreBinding cores(world, invocation.launch, config.threads, kTimeout);
    const ComputeSettings settings{config.device, config.precision, "native", 1};
    const Compute compute = choose_compute(settings, world, invocation.accelerator, kTimeout);
    if (!compute.note.empty()) log::info("{}", compute.note);
    return LayersBench(config, compute, cores.plan()).run();
  };
  return run_with_world(invocation, body, kTimeout);
}

}  // namespace trireme
