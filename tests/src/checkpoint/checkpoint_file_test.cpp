// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <limits>

#include "src/io/h5.h"
#include "tests/src/checkpoint/checkpoint_fixture.h"

namespace trireme {
namespace {

using CheckpointFile = CheckpointTest;

void expect_same_bits(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].shape, b[i].shape);
    ASSERT_EQ(a[i].values.size(), b[i].values.size());
    for (std::size_t k = 0; k < a[i].values.size(); ++k)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(a[i].values[k]), std::bit_cast<std::uint32_t>(b[i].values[k]));
  }
}

TEST_F(CheckpointFile, GivesBackEveryBitOfWhatWasWritten) {
  Checkpoint written = state(390);
  written.parameters[0].values[0] = -0.0F;
  written.parameters[0].values[1] = std::numeric_limits<float>::denorm_min();
  written.parameters[0].values[2] = std::numeric_limits<float>::quiet_NaN();
  written.parameters[0].values[3] = std::numeric_limits<float>::infinity();
  write_checkpoint(path("a.h5"), written);
  const Checkpoint read = read_checkpoint(path("a.h5"));

  expect_same_bits(read.parameters, written.parameters);
  ASSERT_EQ(read.optimizer_state.size(), 1U);
  expect_same_bits(read.optimizer_state.at("momentum"), written.optimizer_state.at("momentum"));
  EXPECT_EQ(read.position.step, 390);
  EXPECT_EQ(read.position.epoch, 3);
  EXPECT_EQ(read.position.step_in_epoch, 17);
  EXPECT_EQ(read.position.samples, 390 * 128);
  EXPECT_EQ(read.position.seed, 0xfedcba9876543210U);
  EXPECT_EQ(read.position.global_batch, 128);
  EXPECT_EQ(read.position.epoch_loss_sum, 1234.0625);
  EXPECT_EQ(read.position.epoch_samples, 2176);
  EXPECT_EQ(read.graph_text, written.graph_text);
  EXPECT_EQ(read.config_text, written.config_text);
  EXPECT_EQ(read.model_name, "resnet20");
  EXPECT_EQ(read.class_names, written.class_names);
  EXPECT_EQ(read.channel_mean, written.channel_mean);
  EXPECT_EQ(read.channel_std, written.channel_std);
  EXPECT_EQ(read.image_size, 32);
  EXPECT_EQ(read.channels, 3);
  EXPECT_EQ(read.crop_ratio, 0.875);
  EXPECT_EQ(read.best_top1, written.best_top1);
  EXPECT_FALSE(read.top1.has_value());
  EXPECT_EQ(read.tuning, written.tuning);
  EXPECT_EQ(read.dataset_fingerprint, written.dataset_fingerprint);
}

TEST_F(CheckpointFile, KeepsTheOrderOfTheGraphRatherThanOfNames) {
  write_checkpoint(path("a.h5"), state(1));
  const Checkpoint read = read_checkpoint(path("a.h5"));
  EXPECT_EQ(read.parameters[0].name, "layer1.0.conv1.weight");
  EXPECT_EQ(read.parameters[2].name, "fc.bias");
}

TEST_F(CheckpointFile, EqualStatesGiveEqualBytes) {
  write_checkpoint(path("a.h5"), state(5));
  write_checkpoint(path("b.h5"), state(5));
  const auto bytes = [&](const char* name) {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes("a.h5"), bytes("b.h5"));
}

/// Finds a float's bytes in the file and flips one bit of it.
void flip_bit_at(const std::string& file_name, float value) {
  std::fstream file(file_name, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::string wanted(reinterpret_cast<const char*>(&value), sizeof value);
  const std::size_t at = bytes.find(wanted);
  ASSERT_NE(at, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(bytes[at] ^ 1));
}

TEST_F(CheckpointFile, NamesTheDamagedWeight) {
  const Checkpoint written = state(1);
  write_checkpoint(path("a.h5"), written);
  flip_bit_at(path("a.h5"), written.parameters[2].values[4]);
  std::string message;
  EXPECT_EQ(status_of([&] { read_checkpoint(path("a.h5")); }, &message), Status::bad_data);
  EXPECT_NE(message.find("/parameters/fc.bias"), std::string::npos) << message;
  EXPECT_NE(message.find(path("a.h5")), std::string::npos) << message;
}

TEST_F(CheckpointFile, NamesDamagedOptimizerState) {
  const Checkpoint written = state(1);
  write_checkpoint(path("a.h5"), written);
  flip_bit_at(path("a.h5"), written.optimizer_state.at("momentum")[1].values[0]);
  std::string message;
  EXPECT_EQ(status_of([&] { read_checkpoint(path("a.h5")); }, &message), Status::bad_data);
  EXPECT_NE(message.find("/optimizer/momentum/fc.bias"), std::string::npos) << message;
}

TEST_F(CheckpointFile, NoticesADamagedPosition) {
  Checkpoint written = state(1);
  written.position.samples = 0x1122334455667788;
  write_checkpoint(path("a.h5"), written);
  std::fstream file(path("a.h5"), std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::size_t at = bytes.find("\x88\x77\x66\x55\x44\x33\x22\x11");
  ASSERT_NE(at, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file.put('\x77');
  file.close();
  std::string message;
  EXPECT_EQ(status_of([&] { read_checkpoint(path("a.h5")); }, &message), Status::bad_data);
  EXPECT_NE(message.find("attributes"), std::string::npos) << message;
}

TEST_F(CheckpointFile, RefusesEveryTruncation) {
  write_checkpoint(path("a.h5"), state(1));
  const auto whole = std::filesystem::file_size(path("a.h5"));
  for (const double part : {0.0, 0.01, 0.3, 0.7, 0.99}) {
    std::filesystem::copy_file(path("a.h5"), path("b.h5"), std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path("b.h5"),
                                 static_cast<std::uintmax_t>(part * static_cast<double>(whole)));
    EXPECT_EQ(status_of([&] { read_checkpoint(path("b.h5")); }), Status::bad_data) << part;
  }
}

TEST_F(CheckpointFile, RefusesWhatIsNoCheckpoint) {
  std::ofstream(path("text.h5")) << "hello";
  EXPECT_EQ(status_of([&] { read_checkpoint(path("text.h5")); }), Status::bad_data);
  EXPECT_EQ(status_of([&] { read_checkpoint(path("none.h5")); }), Status::input_missing);
}

TEST_F(CheckpointFile, LeavesNothingBehindWhenItCannotWrite) {
  EXPECT_EQ(status_of([&] { write_checkpoint(path("no/such/folder/a.h5"), state(1)); }),
            Status::cannot_create);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(CheckpointFile, ReplacesAnOlderFileWhole) {
  write_checkpoint(path("a.h5"), state(1));
  write_checkpoint(path("a.h5"), state(2));
  EXPECT_EQ(read_checkpoint(path("a.h5")).position.step, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST(Digest, DependsOnBitsNamesAndShapesButNotOnOrder) {
  const NamedTensor a{"a", Shape{2}, {1, 2}}, b{"b", Shape{1, 2}, {3, 4}};
  const std::uint64_t digest = digest_of({a, b});
  EXPECT_EQ(digest_of({b, a}), digest);
  EXPECT_NE(digest_of({{"c", a.shape, a.values}, b}), digest);
  EXPECT_NE(digest_of({{"a", Shape{2, 1}, a.values}, b}), digest);
  EXPECT_NE(digest_of({{"a", a.shape, {1, std::nextafterf(2, 3)}}, b}), digest);
  EXPECT_NE(digest_of({a}), digest);
}

/// A state with the residuals of three ranks, in the file `name`.
class CheckpointResiduals : public CheckpointTest {
 protected:
  static std::vector<NamedTensor> residual_of(std::int64_t rank) {
    const auto seed = static_cast<std::uint64_t>(100 + rank);
    return {tensor("layer1.0.conv1.weight", Shape{4, 1, 3, 3}, seed),
            tensor("fc.bias", Shape{10}, seed + 50)};
  }
  void write(const std::string& name) {
    Checkpoint written = state(7);
    written.residual_ranks = 3;
    write_checkpoint(path(name), written, [&](std::int64_t rank) {
      asked_.push_back(rank);
      return residual_of(rank);
    });
  }
  std::vector<std::int64_t> asked_;
};

TEST_F(CheckpointResiduals, AreAskedForInOrderAndReadBackByRank) {
  write("a.h5");
  EXPECT_EQ(asked_, (std::vector<std::int64_t>{0, 1, 2}));
  const Checkpoint read = read_whole_checkpoint(path("a.h5"));
  EXPECT_EQ(read.residual_ranks, 3);
  expect_same_bits(read.parameters, state(7).parameters);
  expect_same_bits(read.optimizer_state.at("momentum"), state(7).optimizer_state.at("momentum"));
  for (const std::int64_t rank : {2, 0, 1})
    expect_same_bits(read_residual(path("a.h5"), rank), residual_of(rank));
}

TEST_F(CheckpointResiduals, OnlyFilesThatHaveThemAreOfVersion2) {
  write("a.h5");
  write_checkpoint(path("b.h5"), state(7));
  const auto version_of = [&](const char* name) {
    return H5File::open_read(path(name)).read_attribute<std::int64_t>("version");
  };
  EXPECT_EQ(version_of("a.h5"), 2);
  EXPECT_EQ(version_of("b.h5"), 1);
  EXPECT_FALSE(read_whole_checkpoint(path("b.h5")).residual_ranks.has_value());
}

TEST_F(CheckpointResiduals, OneThatIsDamagedIsNamed) {
  write("a.h5");
  flip_bit_at(path("a.h5"), residual_of(1)[1].values[3]);
  std::string message;
  EXPECT_EQ(status_of([&] { read_residual(path("a.h5"), 1); }, &message), Status::bad_data);
  EXPECT_NE(message.find("/residuals/1/fc.bias"), std::string::npos) << message;
  EXPECT_EQ(status_of([&] { read_whole_checkpoint(path("a.h5")); }), Status::bad_data);
  EXPECT_EQ(status_of([&] { read_checkpoint(path("a.h5")); }), Status::ok) << "the weights are whole";
  EXPECT_EQ(status_of([&] { read_residual(path("a.h5"), 2); }), Status::ok);
}

TEST_F(CheckpointResiduals, ACheckpointWithADamagedOneIsPassedOver) {
  CheckpointStore store(folder_.string(), 0);
  store.save(state(5), false);
  Checkpoint written = state(7);
  written.residual_ranks = 2;
  const std::string newest = store.save(written, false, residual_of);
  EXPECT_EQ(load_newest_checkpoint(folder_.string())->position.step, 7);
  flip_bit_at(newest, residual_of(1)[0].values[0]);
  EXPECT_EQ(load_newest_checkpoint(folder_.string())->position.step, 5);
}

}  // namespace
}  // namespace trireme
