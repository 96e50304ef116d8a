// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_train.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "data/loader.h"
#include "data/synthetic_dataset.h"
#include "src/cli/bench_train_network.h"
#include "src/cli/command.h"
#include "src/cli/failure.h"
#include "src/cli/text.h"
#include "src/core/deadline.h"
#include "src/core/log.h"
#include "src/graph/initialize.h"
#include "src/io/atomic_file.h"
#include "src/train/batch_pixels.h"
#include "src/train/compute.h"
#include "src/train/device_names.h"
#include "src/train/json_log.h"
#include "src/train/programs.h"
#include "src/train/start_up.h"

namespace trireme {
namespace {

constexpr std::chrono::duration<double> kTimeout = std::chrono::minutes(1);
constexpr double kLearningRate = 0.01;

std::string synthetic_spec(const TrainBenchConfig& config) {
  const std::int64_t batches = config.with_loader ? config.warm_up + config.steps : 1;
  return fmt::format("synthetic:{0}x{0}x3:{1}:{2}", config.image_size, config.classes,
                     batches * config.batch);
}

TransformOptions transform_of(const TrainBenchConfig& config, const DatasetInfo& info) {
  TransformOptions transform;
  transform.image_size = static_cast<int>(config.image_size);
  transform.mean = info.channel_mean;
  transform.std = info.channel_std;
  if (config.with_loader) transform.augment = Augment::crop_flip;
  return transform;
}

/// One rank's network, optimizer and pictures.
class TrainBench {
 public:
  TrainBench(const TrainBenchConfig& config, const Compute& compute, const CoreBinding& cores)
      : config_(config),
        compute_(compute),
        graph_(bench_network(config.model, config.image_size, config.classes)),
        layout_(graph_),
        data_(synthetic_spec(config), /*seed=*/1),
        transform_(transform_of(config, data_.info())),
        device_(make_device(compute, cores.plan())),
        free_before_(device_->free_bytes()),
        pixels_(choose_batch_pixels(*device_, data_.info(), transform_)),
        programs_(graph_, layout_, *device_, *device_, program_options()),
        optimizer_(make_sgd(compute, graph_, layout_, {}, *device_)),
        copy_stream_(device_->make_stream()),
        copied_(device_->make_event()),
        sampler_(data_.info().num_samples, /*seed=*/1, {}) {
    draw_parameters();
    make_loader(cores);
  }

  Json run() {
    for (std::int64_t step = 0; step < config_.warm_up; ++step) run_step();
    device_->compute_stream().synchronize();
    const double first = loss();
    const double waited_before = loader_->wait_seconds();
    const Stopwatch stopwatch;
    for (std::int64_t step = 0; step < config_.steps; ++step) run_step();
    device_->compute_stream().synchronize();
    const double seconds = stopwatch.seconds();
    return report(seconds, loader_->wait_seconds() - waited_before, first, loss());
  }

 private:
  Programs::Options program_options() const {
    Programs::Options options;
    options.train_rows = {config_.batch};
    options.seed = 1;
    options.train_input = pixels_.input;
    options.recording.wanted = config_.cuda_graph;
    return options;
  }

  void draw_parameters() {
    std::vector<float> flat(layout_.elements);
    initialize_parameters(graph_, layout_, /*seed=*/1, flat.data());
    device_->copy(row_of(programs_.parameters(), std::ssize(flat)), row_of(flat.data(), std::ssize(flat)),
                  device_->compute_stream());
    device_->compute_stream().synchronize();
  }

  void make_loader(const CoreBinding& cores) {
    const CoreBinding::HelperScope on_helper_cores(cores);
    LoaderOptions options;
    options.threads = choose_loader_threads(config_.loader_threads, cores.plan());
    options.rows = config_.batch;
    options.pixels = pixels_.format;
    loader_ =
        std::make_unique<Loader>(data_, sampler_, Transform(transform_), options, device_->host_memory());
    const std::int64_t batches = data_.info().num_samples / config_.batch;
    loader_->start(/*epoch=*/0, 0, batches, [rows = config_.batch](std::int64_t index) {
      return Loader::Request{{index * rows, (index + 1) * rows}, rows};
    });
  }

  void take_batch() {
    if (batch_ != nullptr && !config_.with_loader) return;
    if (batch_ != nullptr) copied_->synchronize();
    batch_ = loader_->next();
    TRIREME_ASSERT(batch_ != nullptr, "the loader was started for every step");
  }

  void run_step() {
    take_batch();
    Program& program = programs_.train(config_.batch);
    program.zero_record();
    program.load({batch_->images, batch_->labels, batch_->sample_ids, batch_->valid}, *copy_stream_,
                 *copied_);
    StepScales scales;
    scales.global_samples = config_.batch;
    const Program::ParamHook nothing = [](ParamId) {};
    program.forward(scales, nothing);
    program.backward(scales, nothing);
    const ElementRange all{0, layout_.elements};
    if (!optimizer_->loss_scale()) {
      optimizer_->step(all, programs_.parameters(), programs_.gradients(), kLearningRate, 1);
    } else {
      optimizer_->inspect(all, programs_.gradients());
      optimizer_->step_if_finite(programs_.parameters(), programs_.gradients(), kLearningRate, 0);
    }
  }

  /// Of the last step.
  double loss() {
    const StepRecord record = programs_.train(config_.batch).read_record();
    return record.loss_sum / static_cast<double>(record.samples);
  }

  std::uint64_t memory() const {
    const std::optional<std::size_t> free = device_->free_bytes();
    return free && free_before_ ? *free_before_ - *free : 0;
  }

  Json report(double seconds, double waited, double first_loss, double last_loss) const {
    const double steps = static_cast<double>(config_.steps);
    const double images = steps * static_cast<double>(config_.batch);
    const bool on_gpu = compute_.kind == DeviceKind::cuda;
    Json json{{"bench", "train"},
              {"model", config_.model},
              {"device", device_->description()},
              {"precision", on_gpu ? precision_name(compute_.cuda.precision) : "fp32"},
              {"engine", config_.engine},
              {"batch", config_.batch},
              {"steps", config_.steps},
              {"cuda_graph", config_.cuda_graph},
              {"graph_obstacle", programs_.recording_obstacle()},
              {"with_loader", config_.with_loader},
              {"step_ms", seconds / steps * 1e3},
              {"images_per_second", images / seconds},
              {"data_wait_share", waited / seconds},
              {"memory_bytes", memory()},
              {"first_loss", first_loss},
              {"last_loss", last_loss}};
    if (!std::isfinite(first_loss) || !std::isfinite(last_loss))
      throw make_error(Status::internal, "the loss is not finite: {} after {} steps, {} at the end",
                       first_loss, config_.warm_up, last_loss);
    return json;
  }

  const TrainBenchConfig& config_;
  const Compute& compute_;
  Graph graph_;
  FlatLayout layout_;
  SyntheticDataset data_;
  TransformOptions transform_;
  std::unique_ptr<Device> device_;
  std::optional<std::size_t> free_before_;
  BatchPixels pixels_;
  Programs programs_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Stream> copy_stream_;
  std::unique_ptr<Event> copied_;
  Sampler sampler_;
  std::unique_ptr<Loader> loader_;
  Loader::BatchPtr batch_;
};

std::string text_of(const Json& json) {
  std::string text = fmt::format("# {} in {}, batch {}, {} steps on {}\n", json["model"].get<std::string>(),
                                 json["precision"].get<std::string>(), json["batch"].get<std::int64_t>(),
                                 json["steps"].get<std::int64_t>(), json["device"].get<std::string>());
  const std::string obstacle = json["graph_obstacle"];
  if (!obstacle.empty()) text += fmt::format("# without CUDA graph: {}\n", obstacle);
  text += fmt::format(
      "images/s={:.1f} step_ms={:.3f} data_wait_share={:.3f} memory={} loss={:.4f} to {:.4f}\n",
      json["images_per_second"].get<double>(), json["step_ms"].get<double>(),
      json["data_wait_share"].get<double>(), bytes_text(json["memory_bytes"].get<std::uint64_t>()),
      json["first_loss"].get<double>(), json["last_loss"].get<double>());
  return text;
}

}  // namespace

Status run_bench_train(const Invocation& invocation) {
  const TrainBenchConfig config = read_train_bench(invocation.arguments);
  const auto body = [&](const World& world) {
    check_one_rank(world, "train");
    log::setup(world.rank(), world.size());
    const CoreBinding cores(world, invocation.launch, config.threads, kTimeout);
    const ComputeSettings settings{config.device, config.precision, config.engine, 1};
    const Compute compute = choose_compute(settings, world, invocation.accelerator, kTimeout);
    if (!compute.note.empty()) log::info("{}", compute.note);
    const Json json = TrainBench(config, compute, cores).run();
    std::fputs(text_of(json).c_str(), stdout);
    if (!config.json.empty()) write_text_atomically(config.json, json.dump(1) + "\n");
    return Status::ok;
  };
  return run_with_world(invocation, body, kTimeout);
}

}  // namespace trireme
