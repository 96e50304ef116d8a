// SPDX-License-Identifier: Apache-2.0
// pack and info over real files.
#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "src/checkpoint/checkpoint.h"
#include "src/cli/info.h"
#include "src/core/hash.h"
#include "src/train/config.h"
#include "tests/src/cli/command_line.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

using testing::HasSubstr;

constexpr int kPictures = 12, kSide = 4;

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// Twelve grey pictures in three classes, in MNIST's format. Gives the path of the images.
std::string write_idx(const TemporaryFolder& folder) {
  std::string images = big_endian(0x803) + big_endian(kPictures) + big_endian(kSide) + big_endian(kSide);
  std::string labels = big_endian(0x801) + big_endian(kPictures);
  for (int i = 0; i < kPictures; ++i) {
    images += std::string(kSide * kSide, static_cast<char>(20 * i));
    labels += static_cast<char>(i % 3);
  }
  write_bytes(folder / "t-images-idx3-ubyte", images);
  write_bytes(folder / "t-labels-idx1-ubyte", labels);
  return folder / "t-images-idx3-ubyte";
}

Checkpoint small_checkpoint() {
  Checkpoint c;
  c.position.step = 40;
  c.position.epoch = 2;
  c.position.samples = 5120;
  c.parameters = {{"conv1.weight", Shape{2, 1, 3, 3}, std::vector<float>(18, 0.5F)},
                  {"fc.bias", Shape{3}, {1, 2, 3}}};
  c.optimizer_state["momentum"] = c.parameters;
  c.model_name = "lenet";
  c.graph_text = "graph";
  c.config_text = "lr=0.1\n";
  c.class_names = {"a", "b", "c"};
  c.channel_mean = {0.5};
  c.channel_std = {0.25};
  c.image_size = 28;
  c.channels = 1;
  c.top1 = 0.875;
  return c;
}

TEST(PackCommand, SaysInOneLineWhatItPacked) {
  const TemporaryFolder folder;
  const std::string source = write_idx(folder), output = folder / "t.h5";
  const Outcome outcome = run_words({"pack", source, "-o", output, "--class-names", "x,y,z"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string pattern = "packed 12 pictures in 3 classes \\(4x4x1, raw\\) to " + output +
                              ": [0-9.]+ [KM]iB, [0-9.]+ s, [0-9,]+ pictures/s\n";
  EXPECT_THAT(outcome.out, testing::MatchesRegex(pattern));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("\r"))) << "the progress line is for terminals";
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("\033")));
}

TEST(PackCommand, IsQuietWhenAsked) {
  const TemporaryFolder folder;
  const Outcome outcome = run_words({"pack", write_idx(folder), "-o", folder / "t.h5", "--quiet"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

TEST(PackCommand, ReturnsTheStatusOfItsError) {
  const TemporaryFolder folder;
  const std::string source = write_idx(folder), output = folder / "t.h5";
  EXPECT_EQ(run_words({"pack", folder / "nothing", "-o", output}).status, 66);
  EXPECT_EQ(run_words({"pack", source, "-o", folder / "no/such/folder/t.h5"}).status, 73);
  EXPECT_EQ(run_words({"pack", source, "-o", output}).status, 0);
  const Outcome again = run_words({"pack", source, "-o", output});
  EXPECT_EQ(again.status, 73);
  EXPECT_THAT(again.err, testing::StartsWith("trireme: error: "));
  EXPECT_EQ(run_words({"pack", source, "-o", output, "--force"}).status, 0);
}

TEST(InfoCommand, TellsAboutADataset) {
  const TemporaryFolder folder;
  const std::string file = folder / "t.h5";
  ASSERT_EQ(run_words({"pack", write_idx(folder), "-o", file, "--class-names", "x,y,z"}).status, 0);
  const Outcome outcome = run_words({"info", file});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"version 1", "12, 4x4x1, raw", "3: x 4, y 4, z 4", "channel mean", "fingerprint"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("verified")));
  const Outcome verified = run_words({"info", file, "--verify"});
  EXPECT_EQ(verified.status, 0);
  EXPECT_THAT(verified.out, HasSubstr("verified       12 pictures"));
  EXPECT_NE(run_words({"info", file, "--digest"}).status, 0);
}

TEST(InfoCommand, FindsADamagedPicture) {
  const TemporaryFolder folder;
  const std::string file = folder / "t.h5";
  ASSERT_EQ(run_words({"pack", write_idx(folder), "-o", file, "--order", "source"}).status, 0);
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t picture = bytes.find(std::string(kSide * kSide, static_cast<char>(20 * 7)));
  ASSERT_NE(picture, std::string::npos);
  bytes[picture + 3] ^= 1;
  write_bytes(file, bytes);
  EXPECT_EQ(run_words({"info", file}).status, 0);
  const Outcome outcome = run_words({"info", file, "--verify"});
  EXPECT_EQ(outcome.status, 65);
  EXPECT_THAT(outcome.err, HasSubstr("1 of 12 pictures are damaged: " + file));
  EXPECT_THAT(outcome.err, HasSubstr("sample 7"));
}

TEST(InfoCommand, TellsAboutACheckpoint) {
  const TemporaryFolder folder;
  const std::string file = folder / "step-40.h5";
  const Checkpoint checkpoint = small_checkpoint();
  write_checkpoint(file, checkpoint);
  const Outcome outcome = run_words({"info", file, "--verify"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string digest = hex_of(digest_of(checkpoint.parameters));
  for (const std::string part : {"lenet, 21 values in 2 tensors", "step 40, epoch 2, 5,120 pictures",
                                 "28x28x1, 3 classes", "0.8750", "not measured", "verified"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_THAT(outcome.out, HasSubstr(digest));
  EXPECT_EQ(run_words({"info", "--digest", file}).out, digest + "\n");
}

TEST(InfoCommand, TellsAboutARun) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  std::filesystem::create_directories(run);
  EXPECT_EQ(run_words({"info", run}).status, 66) << "no config.ini yet";
  TrainConfig config = default_train_config();
  config.model = "lenet";
  config.lr = 0.25;
  write_bytes(run + "/config.ini", config_text(config));
  const Outcome fresh = run_words({"info", run});
  EXPECT_EQ(fresh.status, 0) << fresh.err;
  EXPECT_THAT(fresh.out, HasSubstr("no checkpoint yet"));

  const Checkpoint checkpoint = small_checkpoint();
  CheckpointStore(run, 3).save(checkpoint, true);
  write_bytes(run + "/log.jsonl",
              "{\"event\":\"eval\",\"epoch\":1,\"top1\":0.5}\n"
              "{\"event\":\"eval\",\"epoch\":2,\"top1\":0.875,\"loss\":0.25}\n{\"event\":\"step\"}\n");
  const Outcome outcome = run_words({"info", run, "--verify"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part :
       {"model=lenet", "lr=0.25", "step-40", "epoch=2 top1=0.8750 loss=0.2500", "1 checkpoint"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("momentum="))) << "defaults are not repeated";
  EXPECT_EQ(run_words({"info", run, "--digest"}).out, hex_of(digest_of(checkpoint.parameters)) + "\n");

  const std::string file = run + "/checkpoints/step-40.h5";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_EQ(run_words({"info", run, "--verify"}).status, 65);
  EXPECT_EQ(run_words({"info", run, "--digest"}).status, 65);
}

TEST(InfoCommand, RefusesOtherFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_words({"info", folder / "nothing"}).status, 66);
  write_bytes(folder / "text", "hello");
  EXPECT_EQ(run_words({"info", folder / "text"}).status, 65);
}

TEST(InfoCommand, TellsAboutTheBuild) {
  const Outcome outcome = run_words({"info"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"trireme", "compiler", "MPI", "HDF5", "oneDNN", "CUDA", "by affinity", "cpu, "})
    EXPECT_THAT(outcome.out, HasSubstr(part));
}

TEST(Info, RanksAreListedByHost) {
  EXPECT_EQ(ranks_text({"a"}), "0 on a");
  EXPECT_EQ(ranks_text({"a", "a", "b", "b", "b"}), "0-1 on a, 2-4 on b");
  EXPECT_EQ(ranks_text({"b", "a", "b", "a", "a"}), "0,2 on b, 1,3-4 on a");
}

TEST(Info, TheLastEvaluationSkipsTornLines) {
  EXPECT_EQ(last_evaluation(""), "");
  EXPECT_EQ(last_evaluation("{\"event\":\"start\"}\n[1]\n"), "");
  EXPECT_EQ(
      last_evaluation(
          "{\"event\":\"eval\",\"epoch\":3,\"loss\":null,\"top1\":0.9132,\"correct\":9132,\"total\":10000}\n"
          "{\"event\":\"eval\",\"epo"),
      "epoch=3 top1=0.9132 correct=9132 total=10000");
}

TEST(InfoCommand, AFolderThatCannotBeLookedIntoIsMissingInput) {
  const TemporaryFolder folder;
  // No rights stop the superuser, but a link to itself does.
  std::filesystem::create_symlink("config.ini", folder / "config.ini");
  const Outcome outcome = run_words({"info", folder / ""});
  EXPECT_EQ(outcome.status, 66);
  EXPECT_THAT(outcome.err, HasSubstr("cannot read " + (folder / "")));
  EXPECT_EQ(run_words({"info", folder / std::string(300, 'x')}).status, 66);
}

}  // namespace
}  // namespace trireme
