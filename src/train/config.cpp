// SPDX-License-Identifier: Apache-2.0
#include "src/train/config.h"

#include "data/transform.h"
#include "models/models.h"
#include "src/comm/communicator.h"
#include "src/core/parse.h"
#include "src/exchange/narrow_wire.h"
#include "src/train/device_names.h"

namespace trireme {

namespace {

using C = TrainConfig;
using Rows = std::vector<Setting>;

Choice augment_choice() {
  Choice choice{{"auto"}, "NAME"};
  for (const AugmentName& augment : augment_names()) choice.words.emplace_back(augment.name);
  return choice;
}

Choice model_choice() {
  Choice choice{{}, "NAME"};
  for (const Model& model : all_models()) choice.words.emplace_back(model.name);
  return choice;
}

Choice comm_choice() {
  Choice choice{{}, "NAME"};
  for (const CommunicatorName& comm : communicator_names()) choice.words.emplace_back(comm.name);
  return choice;
}

Choice wire_choice() {
  Choice choice;
  for (const WireName& wire : wire_names()) choice.words.emplace_back(wire.name);
  return choice;
}

std::string list_of(const Choice& choice) {
  return fmt::format("{}", fmt::join(choice.words, ", "));
}

void check_order(std::string_view text) {
  constexpr std::string_view kBlocks = "blocks:";
  if (text == "full") return;
  const std::optional<double> size =
      text.starts_with(kBlocks) ? parse_double(text.substr(kBlocks.size())) : std::nullopt;
  if (!size || *size <= 0) throw bad_value("'{}' is neither full nor blocks:MIB, such as blocks:4", text);
}

Rows data_settings() {
  const Text files{"FILE"};
  return {
      setting(
          "data", &C::data, files, "",
          "training data: packed file(s), comma-separated or a quoted glob, or synthetic:HxWxC:classes[:N]")
          .per_rank(),
      setting("val", &C::val, files, "", "validation data, as --data; without it nothing is evaluated")
          .per_rank(),
      setting("image-size", &C::image_size, Integer{1, 1 << 15, "auto"}, "auto",
              "height and width that the net sees, in pixels; auto: as stored (raw files)"),
      setting("augment", &C::augment, augment_choice(), "auto",
              "random changes to training pictures: " + list_of(augment_choice())),
      setting(
          "order", &C::order, Text{"full|blocks:MIB", check_order}, "full",
          "full: a new permutation of all pictures every epoch; blocks:MIB: of blocks, for nearly sequential "
          "reads"),
      setting("preload", &C::preload, Text{"none|memory|DIR"}, "none",
              "stage one copy of the data per node in memory or in a folder")
          .per_rank(),
      setting("last-batch", &C::last_batch, Choice{{"drop", "keep"}}, "drop",
              "what to do with the partial batch at an epoch's end"),
      setting("loader-threads", &C::loader_threads, Integer{1, 1024, "auto"}, "auto",
              "threads per rank that read and augment pictures")
          .per_rank(),
  };
}

Rows model_settings() {
  return {
      setting("model", &C::model, model_choice(), "", "network: " + list_of(model_choice())),
      setting("label-smoothing", &C::label_smoothing, Number{0, 0.999}, "0",
              "share of the target that is spread over all classes"),
      setting("dropout", &C::dropout, Number{0, 0.999}, "0.5",
              "probability, in nets that have dropout layers"),
      setting("sync-bn", &C::sync_bn, Switch{}, "false",
              "BatchNorm statistics over the pictures of all ranks instead of each rank's own"),
  };
}

Rows length_settings() {
  return {
      setting("epochs", &C::epochs, Integer{1, 1'000'000}, "10", "passes over the training data"),
      setting("steps", &C::steps, Integer{1, INT64_MAX, "all"}, "all",
              "stop early, after this many steps; the schedule still spans --epochs"),
      setting("global-batch", &C::global_batch, Integer{1, 1 << 24, "none"}, "128",
              "pictures per step over all ranks together"),
      setting("batch-per-rank", &C::batch_per_rank, Integer{1, 1 << 24, "none"}, "none",
              "pictures per step and rank: the other way to say --global-batch"),
      setting("accumulate", &C::accumulate, Integer{1, 1 << 16}, "1",
              "parts that each step's batch is computed in, one after the other, to save memory"),
      setting("target-accuracy", &C::target_accuracy, Number{0, 1, false, "none"}, "none",
              "stop when top-1 of the validation data reaches this share, such as 0.91"),
  };
}

Rows optimizer_settings() {
  return {
      setting("lr", &C::lr, Number{.open = true}, "0.1", "base learning rate of SGD"),
      setting("momentum", &C::momentum, Number{0, 0.9999}, "0.9", "momentum of SGD"),
      setting("nesterov", &C::nesterov, Switch{}, "false", "Nesterov momentum"),
      setting("weight-decay", &C::weight_decay, Number{}, "5e-4", "L2 penalty, added to the gradient"),
      setting("decay-norm-and-bias", &C::decay_norm_and_bias, Switch{}, "true",
              "let weight decay act on BatchNorm weights and on biases, too"),
      setting("schedule", &C::schedule, Choice{{"cosine", "constant", "step", "linear"}}, "cosine",
              "how the learning rate falls over --epochs"),
      setting("warmup-epochs", &C::warmup_epochs, Number{}, "0",
              "epochs over which the learning rate first rises"),
      setting("milestones", &C::milestones, Numbers{}, "",
              "epochs at which --schedule step multiplies by --gamma"),
      setting("gamma", &C::gamma, Number{0, 1, true}, "0.1", "factor of --schedule step"),
      setting("clip-norm", &C::clip_norm, Number{.open = true, .zero_word = "none"}, "none",
              "largest norm of the whole gradient"),
      setting("nan-guard", &C::nan_guard, Switch{}, "true",
              "end the run at the first loss or gradient that is not finite, naming step and layer"),
      setting("seed", &C::seed, Integer{}, "0", "of weights, order, augmentation and dropout"),
  };
}

Rows output_settings() {
  return {
      setting("output", &C::output, Text{"DIR"}, "",
              "folder of the run; {seed}, {jobid} and {index} (of a job array) are replaced")
          .with_letter('o')
          .per_rank(),
      setting("resume", &C::resume, Text{"auto|PATH"}, "",
              "go on from a checkpoint; auto: from the run folder's newest, or begin if it has none")
          .per_rank(),
      setting("eval-every", &C::eval_every, When{}, "1epoch", "500steps, 1epoch, 15min or never"),
      setting("eval-batch", &C::eval_batch, Integer{1, 1 << 24}, "100",
              "pictures per rank that are evaluated at once"),
      setting("checkpoint-every", &C::checkpoint_every, When{}, "1epoch",
              "500steps, 1epoch, 15min or never; the end is always saved"),
      setting("keep", &C::keep, Integer{1, 1'000'000}, "3", "checkpoints that stay, besides the best"),
      setting("log-every", &C::log_every, Integer{1, 1 << 30}, "50", "steps between two lines of the log"),
      setting("log-json", &C::log_json, Text{"FILE"}, "", "second copy of the run's log.jsonl").per_rank(),
      setting("memory-report", &C::memory_report, Switch{}, "false",
              "print the memory plan before the first step")
          .per_rank(),
  };
}

Rows device_settings() {
  return {
      setting("device", &C::device, Text{"auto|cpu|cuda[:N]", check_device_name}, "auto",
              "what computes; auto: a GPU where there is one; cuda: the GPU of the rank's number on its node")
          .per_rank(),
      setting("precision", &C::precision, precision_choice(), "auto",
              "of activations and products on GPUs; weights stay fp32; auto: bf16 where the GPU has it, else "
              "fp32; fp16 scales the loss"),
      setting(
          "loss-scale", &C::loss_scale, Number{1, 16777216}, "65536",
          "what fp16 multiplies the loss by at first; it falls where a gradient overflows and rises after "
          "2000 steps without"),
      setting("engine", &C::engine, engine_choice(), "native",
              "what computes convolutions on GPUs: our kernels, cuDNN, or by layer whichever is faster"),
      setting("cuda-graph", &C::cuda_graph, Switch{}, "false",
              "record the work between two buckets of gradients once and start it as a whole from then on"),
      setting("ranks-per-gpu", &C::ranks_per_gpu, Integer{1, 64}, "1",
              "ranks that may share a GPU, with its memory divided among them; their gradients go over host "
              "memory"),
  };
}

Rows machine_settings() {
  return {
      setting("comm", &C::comm, comm_choice(), "auto",
              "what sums gradients over the ranks: " + list_of(comm_choice())),
      setting(
          "tuning", &C::tuning, Text{"measure|FILE"}, "measure",
          "what --comm is tuned by; FILE: the tuning.json of another run, whose sums then have the same bits")
          .per_rank(),
      setting(
          "wire", &C::wire, wire_choice(), "fp32",
          "what gradients travel as; bf16 and fp16 halve the traffic and send what rounding leaves over in "
          "later steps"),
      setting("bucket-mb", &C::bucket_mb, Number{.most = 1024, .open = true}, "4",
              "MiB of gradients that are summed at once while backward goes on"),
      setting("threads", &C::threads, Integer{1, 4096, "auto"}, "auto",
              "threads per rank that compute; auto: OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, or a fair share of "
              "the cores")
          .per_rank(),
      setting("timeout", &C::timeout_seconds, Duration{}, "10min",
              "longest wait for another rank or for data in a step: 600, 90s, 10min, 2h"),
      setting("startup-timeout", &C::startup_timeout_seconds, Duration{}, "10min",
              "longest wait for another rank until the first step"),
      setting("staging-timeout", &C::staging_timeout_seconds, Duration{}, "1h",
              "the same for opening the data with --preload"),
      setting("evaluation-timeout", &C::evaluation_timeout_seconds, Duration{}, "10min",
              "longest wait for another rank or for data in an evaluation"),
      setting("saving-timeout", &C::saving_timeout_seconds, Duration{}, "30min",
              "longest wait for rank 0 to write a checkpoint"),
      setting("max-time", &C::max_time_seconds, Duration{"auto"}, "auto",
              "save and exit with status 143 after this time, less --grace; auto: what the scheduler leaves"),
      setting("grace", &C::grace_seconds, Duration{}, "60s", "time kept back from --max-time for saving"),
      setting("expect-ranks", &C::expect_ranks, Integer{1, 1 << 24, "any"}, "any",
              "fail at once if there are fewer ranks"),
  };
}

Rows make_table() {
  Rows table;
  add_group(table, "Data", data_settings());
  add_group(table, "Model", model_settings());
  add_group(table, "Length and batch", length_settings());
  add_group(table, "Optimisation", optimizer_settings());
  add_group(table, "Evaluation and output", output_settings());
  add_group(table, "Device", device_settings());
  add_group(table, "Machine", machine_settings());
  return table;
}

}  // namespace

const std::vector<Setting>& train_settings() {
  static const Rows table = make_table();
  return table;
}

TrainConfig default_train_config() {
  TrainConfig config;
  apply_defaults(train_settings(), config);
  return config;
}

}  // namespace trireme
