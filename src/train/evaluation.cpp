// SPDX-License-Identifier: Apache-2.0
// Evaluation of a checkpoint: network, normalisation, picture size, crop rule and class names all come from
// it.
#include "models/models.h"
#include "src/core/log.h"
#include "src/train/batch_pixels.h"
#include "src/train/checkpoint_header.h"
#include "src/train/communication.h"
#include "src/train/compute.h"
#include "src/train/evaluator.h"
#include "src/train/model_state.h"
#include "src/train/programs.h"
#include "src/train/start_up.h"
#include "src/train/train.h"
#include "src/train/wait_limits.h"

namespace trireme {
namespace {

using Timeout = std::chrono::duration<double>;

/// Rank 0 reads the file; the others get all but the tensors.
Checkpoint share_checkpoint(const EvalConfig& config, const World& world, std::string& path,
                            Timeout timeout) {
  Checkpoint checkpoint;
  std::string text;
  if (world.rank() == 0) {
    path = resolve_checkpoint(config.checkpoint, true);
    checkpoint = read_checkpoint(path);
    text = checkpoint_header_text(checkpoint);
  }
  text = world.all().broadcast_text(text, 0, timeout, "rank 0 to read the checkpoint");
  return world.rank() == 0 ? checkpoint : parse_checkpoint_header(text);
}

/// The checkpoint's network, built again where pictures of another size are asked for.
Graph network_of(const Checkpoint& checkpoint, int image_size) {
  Graph graph = parse_graph(checkpoint.graph_text);
  if (image_size == checkpoint.image_size) return graph;
  return build_model(checkpoint.model_name,
                     {Shape{image_size, image_size, checkpoint.channels}, graph.num_classes(), 0, 0});
}

TransformOptions transform_of(const Checkpoint& checkpoint, int image_size) {
  TransformOptions options;
  options.image_size = image_size;
  options.channels = static_cast<int>(checkpoint.channels);
  options.training = false;
  options.mean = checkpoint.channel_mean;
  options.std = checkpoint.channel_std;
  options.crop_ratio = checkpoint.crop_ratio;
  return options;
}

void check_data_fits(const Checkpoint& checkpoint, const DatasetInfo& data, const std::string& path) {
  DatasetInfo trained_on;
  trained_on.name = path;
  trained_on.class_names = checkpoint.class_names;
  trained_on.sample_shape = Shape{0, 0, checkpoint.channels};
  check_same_classes(trained_on, data);
  if (data.channels() != checkpoint.channels)
    throw make_error(Status::bad_data, "the pictures have {} channels, the network takes {}", data.channels(),
                     checkpoint.channels)
        .at(data.name);
}

void upload_parameters(const Checkpoint& checkpoint, const Graph& graph, const FlatLayout& layout,
                       const std::string& path, Device& device, Stream& stream, float* parameters) {
  std::vector<float> flat(layout.elements);
  fill_flat(graph, layout, checkpoint.parameters, true, path, flat.data());
  const auto count = std::ssize(flat);
  device.copy(row_of(parameters, count), row_of(flat.data(), count), stream);
  stream.synchronize();
}

void print_result(const EvalConfig& config, const Checkpoint& checkpoint, const std::string& path,
                  const EvalResult& result) {
  if (!config.json) {
    fmt::print("{}\n", result.text());
    return;
  }
  Json object{{"event", "eval"}, {"epoch", checkpoint.position.epoch}, {"step", checkpoint.position.step}};
  object.update(result.json());
  object["checkpoint"] = path;
  object["data"] = config.data;
  fmt::print("{}\n", object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

Status run_evaluation(const EvalConfig& config, World& world, const LaunchFacts& launch,
                      Accelerator* accelerator) {
  const WaitLimit startup = startup_limit(config), limit(Timeout(config.timeout_seconds));
  const Timeout timeout = startup.timeout;
  const CoreBinding cores(world, launch, config.threads, timeout);
  std::string path = config.checkpoint;
  Checkpoint checkpoint = share_checkpoint(config, world, path, timeout);
  constexpr std::uint64_t kSeed = 0;
  const auto data = open_shared_dataset(config.data, world, kSeed, config.preload, opening_timeout(config));
  check_data_fits(checkpoint, data->info(), path);

  const int image_size = config.image_size > 0 ? config.image_size : static_cast<int>(checkpoint.image_size);
  const Graph graph = network_of(checkpoint, image_size);
  const FlatLayout layout(graph);
  const Compute compute = choose_compute(compute_settings(config), world, accelerator, timeout);
  if (world.rank() == 0 && !compute.note.empty()) log::info("{}", compute.note);
  const auto device = make_device(compute, cores.plan());
  const TransformOptions transform = transform_of(checkpoint, image_size);
  const BatchPixels pixels = choose_batch_pixels(*device, data->info(), transform);
  CommunicatorOptions options{config.comm};
  const GpuAccess gpu(compute, *device);
  options.gpu = gpu.get();
  Communication communication(options, world.all(), startup, cores);
  Programs::Options wanted;
  wanted.eval_rows = config.eval_batch;
  wanted.eval_input = pixels.input;
  Programs programs(graph, layout, *device, *device, wanted);
  Stream& stream = device->compute_stream();
  if (world.rank() == 0)
    upload_parameters(checkpoint, graph, layout, path, *device, stream, programs.parameters());
  Communicator& communicator = *communication.gradients;
  const Tensor parameters = row_of(programs.parameters(), static_cast<std::int64_t>(layout.elements));
  communicator.wait(communicator.broadcast(parameters, 0, stream, "rank 0's parameters"), stream);

  std::optional<CoreBinding::HelperScope> on_helper_cores(cores);
  Evaluator evaluator(
      *data, transform,
      {config.eval_batch, world.rank(), world.size(),
       choose_loader_threads(config.loader_threads, cores.plan()), data_limit(limit), pixels.format},
      *device);
  on_helper_cores.reset();
  communication.thread->set_limit(limit);
  communication.thread->activity().set(Doing::evaluating);
  const EvalResult result = evaluator.run(programs.eval(), stream, *communication.scalars);
  if (world.rank() == 0) print_result(config, checkpoint, path, result);
  return Status::ok;
}

}  // namespace trireme
