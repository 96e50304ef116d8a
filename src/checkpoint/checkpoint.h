// SPDX-License-Identifier: Apache-2.0
// The whole state of a training run in one HDF5 file: named tensors (torchvision's names, OIHW, fp32),
// optimizer state, position, settings, and what is needed to classify a picture. See docs/formats.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/shape.h"

namespace trireme {

/// Where a run stands. Everything random is a function of these numbers and the seed.
struct TrainingPosition {
  std::int64_t step = 0;           ///< finished steps since the beginning of the run
  std::int64_t epoch = 0;          ///< the epoch that the next step belongs to
  std::int64_t step_in_epoch = 0;  ///< steps of that epoch that are done
  std::int64_t samples = 0;        ///< samples trained on so far
  std::uint64_t seed = 0;
  std::int64_t global_batch = 0;
  /// Sums of the running epoch (train loss, samples): resumed so that its report is whole.
  double epoch_loss_sum = 0;
  std::int64_t epoch_samples = 0;
};

struct NamedTensor {
  std::string name;
  Shape shape;  ///< file order
  std::vector<float> values;
};

struct Checkpoint {
  TrainingPosition position;
  std::vector<NamedTensor> parameters;  ///< weights and BN statistics, graph order
  std::map<std::string, std::vector<NamedTensor>> optimizer_state;  ///< by state name, "momentum"
  std::string graph_text, model_name, config_text;
  std::vector<std::string> class_names;
  std::vector<double> channel_mean, channel_std;
  std::int64_t image_size = 0, channels = 0;
  double crop_ratio = 0.875;
  std::optional<double> best_top1, top1;  ///< best so far in the run; of this state if it was evaluated
  std::uint64_t dataset_fingerprint = 0;
  std::optional<std::string> tuning;  ///< choices made by measuring, as JSON; absent without any
  /// Of runs in fp16 on a GPU: see LossScale. Absent elsewhere.
  std::optional<double> loss_scale;
  std::optional<std::int64_t> loss_scale_good_steps, skipped_steps;
  /// Number of ranks whose compression residuals are in the file, where they stay: all of them together may
  /// be larger than memory. Absent without compression.
  std::optional<std::int64_t> residual_ranks;
};

/// What the compression of one rank still owes the sum of gradients: a tensor per weight.
using ResidualSource = std::function<std::vector<NamedTensor>(std::int64_t rank)>;

/// Writes under a temporary name, fsyncs, renames, fsyncs the directory. 73 or 74 on failure, nothing left
/// behind. With `checkpoint.residual_ranks`, `residual_of` is called for each rank in order, and its result
/// written before the next call.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                      const ResidualSource& residual_of = {});
/// All but the residuals. 66 if absent, 65 if damaged (checksum, missing parts), naming the file and the
/// part.
Checkpoint read_checkpoint(const std::string& path);
/// One rank's residual, below the file's residual_ranks. Errors as of read_checkpoint.
std::vector<NamedTensor> read_residual(const std::string& path, std::int64_t rank);
/// read_checkpoint that has read and compared the residuals, too.
Checkpoint read_whole_checkpoint(const std::string& path);

/// Hash over all weights and BN statistics by name: equal digest, bit-equal model. Names are sorted.
std::uint64_t digest_of(const std::vector<NamedTensor>& parameters);

/// The newest checkpoint of a run folder that reads without damage, residuals included, falling back to the
/// ones before with a warning; nothing if the folder has none; 65 if it has some and all are damaged.
std::optional<Checkpoint> load_newest_checkpoint(const std::string& run_dir,
                                                 std::string* path_read = nullptr);

/// `RUN_DIR/checkpoints/step-N.h5` with the one-line files `RUN_DIR/latest` and `RUN_DIR/best`, which hold a
/// path relative to RUN_DIR. For the one process that writes: the constructor makes the folders and removes
/// temporary files of writers that are dead. `keep` 0 keeps all.
class CheckpointStore {
 public:
  CheckpointStore(std::string run_dir, int keep);
  /// Saves, updates `latest` (and `best` if asked), removes all but the last `keep` and the best.
  std::string save(const Checkpoint& checkpoint, bool is_best, const ResidualSource& residual_of = {});
  std::optional<Checkpoint> load_latest(std::string* path_read = nullptr) const {
    return load_newest_checkpoint(run_dir_, path_read);
  }
  const std::string& run_dir() const { return run_dir_; }

 private:
  void remove_old(std::int64_t newest_step) const;

  std::string run_dir_;
  int keep_;
};

/// What eval and --resume accept: a checkpoint file, or a run folder (best if `prefer_best`, else latest,
/// else its newest step-N.h5). 66 if there is none.
std::string resolve_checkpoint(const std::string& path, bool prefer_best);

}  // namespace trireme
