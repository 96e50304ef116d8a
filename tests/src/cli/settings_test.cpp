// SPDX-License-Identifier: Apache-2.0
// The command lines of pack, eval and info.
#include <gmock/gmock.h>

#include <set>

#include "src/cli/eval_settings.h"
#include "src/cli/info.h"
#include "src/cli/pack_settings.h"
#include "src/cli/usable_cores.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

template <typename Function>
std::string usage_error(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::usage);
    return error.what();
  }
  return "accepted";
}

template <typename Config>
void check_table(const std::vector<SettingOf<Config>>& table) {
  std::set<std::string> names;
  Config config;
  for (const SettingOf<Config>& row : table) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    if (row.default_text.empty()) continue;
    ASSERT_NO_THROW(row.set(config, row.default_text)) << row.name;
    const std::string text = row.get(config);
    ASSERT_NO_THROW(row.set(config, text)) << row.name;
    EXPECT_EQ(row.get(config), text) << row.name;
  }
}

TEST(CommandTables, AreSound) {
  check_table(pack_settings());
  check_table(eval_settings());
  check_table(info_settings());
}

TEST(PackSettings, FillTheRequest) {
  const PackRequest request = read_pack_request({"a",
                                                 "b",
                                                 "-o",
                                                 "t.h5",
                                                 "--format",
                                                 "idx",
                                                 "--encode=jpeg",
                                                 "--resize",
                                                 "256",
                                                 "--crop",
                                                 "224",
                                                 "--order",
                                                 "source",
                                                 "--seed",
                                                 "3",
                                                 "--on-error",
                                                 "skip",
                                                 "--split",
                                                 "val=0.1",
                                                 "--threads",
                                                 "5",
                                                 "--force",
                                                 "--quiet",
                                                 "--class-names",
                                                 "shirt,shoe"});
  EXPECT_EQ(request.sources, (Words{"a", "b"}));
  EXPECT_EQ(request.output, "t.h5");
  EXPECT_EQ(request.format, PackFormat::idx);
  EXPECT_EQ(request.encode, Encoding::jpeg);
  EXPECT_EQ(request.resize, 256);
  EXPECT_EQ(request.crop, 224);
  EXPECT_EQ(request.order, PackOrder::source);
  EXPECT_EQ(request.seed, 3U);
  EXPECT_EQ(request.on_error, OnError::skip);
  ASSERT_TRUE(request.split);
  EXPECT_EQ(request.split->name, "val");
  EXPECT_EQ(request.split->fraction, 0.1);
  EXPECT_EQ(request.threads, 5);
  EXPECT_TRUE(request.force);
  EXPECT_TRUE(request.quiet);
  EXPECT_EQ(request.class_names, (Words{"shirt", "shoe"}));
}

TEST(PackSettings, HaveDefaults) {
  const PackRequest request = read_pack_request({"a", "-o", "t.h5"});
  EXPECT_EQ(request.format, PackFormat::automatic);
  EXPECT_EQ(request.encode, Encoding::raw);
  EXPECT_EQ(request.order, PackOrder::shuffled);
  EXPECT_EQ(request.on_error, OnError::fail);
  EXPECT_FALSE(request.split);
  EXPECT_FALSE(request.size);
  EXPECT_EQ(request.threads, read_usable_cores().threads());
  EXPECT_FALSE(request.force || request.quiet);
  EXPECT_EQ(read_pack_request({"a", "-o", "t.h5", "--size", "32x40"}).size, (PackSize{32, 40}));
}

TEST(PackSettings, RefuseWhatIsMissingOrWrong) {
  EXPECT_THAT(usage_error([] { read_pack_request({"-o", "t.h5"}); }), HasSubstr("no source"));
  EXPECT_THAT(usage_error([] { read_pack_request({"a"}); }), HasSubstr("missing -o FILE"));
  const std::pair<Words, const char*> cases[] = {
      {{"--split", "0.1"}, "--split:"},          {{"--size", "32"}, "--size:"},
      {{"--encode", "png"}, "--encode:"},        {{"--resize", "-1"}, "--resize:"},
      {{"--class-names", "a,,b"}, "empty name"}, {{"--sead", "1"}, "did you mean --seed?"}};
  for (const auto& [flags, message] : cases) {
    Words arguments = {"a", "-o", "t.h5"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_THAT(usage_error([&] { read_pack_request(arguments); }), HasSubstr(message));
  }
}

TEST(EvalSettings, FillTheConfig) {
  const EvalConfig config = read_eval_config({"--data",
                                              "v.h5",
                                              "--checkpoint",
                                              "run",
                                              "--json",
                                              "--eval-batch",
                                              "7",
                                              "--threads",
                                              "2",
                                              "--loader-threads=3",
                                              "--image-size",
                                              "64",
                                              "--preload",
                                              "memory",
                                              "--device",
                                              "cpu",
                                              "--comm",
                                              "mpi",
                                              "--timeout",
                                              "90s",
                                              "--startup-timeout",
                                              "2min",
                                              "--staging-timeout",
                                              "2h",
                                              "--expect-ranks",
                                              "4"});
  EXPECT_EQ(config.data, "v.h5");
  EXPECT_EQ(config.checkpoint, "run");
  EXPECT_TRUE(config.json);
  EXPECT_EQ(config.eval_batch, 7);
  EXPECT_EQ(config.threads, 2);
  EXPECT_EQ(config.loader_threads, 3);
  EXPECT_EQ(config.image_size, 64);
  EXPECT_EQ(config.preload, "memory");
  EXPECT_EQ(config.device, "cpu");
  EXPECT_EQ(config.comm, "mpi");
  EXPECT_EQ(config.timeout_seconds, 90);
  EXPECT_EQ(config.startup_timeout_seconds, 120);
  EXPECT_EQ(config.staging_timeout_seconds, 7200);
  EXPECT_EQ(config.expect_ranks, 4);
}

TEST(EvalSettings, TableAndStructAgreeOnDefaults) {
  const EvalConfig from_struct;
  EvalConfig from_table = read_eval_config({"--data", "v.h5", "--checkpoint", "run"});
  for (const SettingOf<EvalConfig>& row : eval_settings())
    if (row.name != "data" && row.name != "checkpoint") {
      EXPECT_EQ(row.get(from_table), row.get(from_struct)) << row.name;
    }
}

TEST(EvalSettings, RefuseWhatIsMissing) {
  EXPECT_THAT(usage_error([] { read_eval_config({"--checkpoint", "run"}); }), HasSubstr("missing --data"));
  EXPECT_THAT(usage_error([] { read_eval_config({"--data", "v.h5"}); }), HasSubstr("missing --checkpoint"));
  EXPECT_THAT(usage_error([] { read_eval_config({"run"}); }), HasSubstr("unexpected argument 'run'"));
}

TEST(InfoSettings, TakeOnePathAndWhatToDoWithIt) {
  EXPECT_EQ(read_info_request({}).path, "");
  EXPECT_EQ(read_info_request({"--digest", "run"}).path, "run");
  EXPECT_TRUE(read_info_request({"--digest", "run"}).digest);
  EXPECT_TRUE(read_info_request({"t.h5", "--verify"}).verify);
  EXPECT_THAT(usage_error([] { read_info_request({"--verify"}); }), HasSubstr("need a file"));
  EXPECT_THAT(usage_error([] { read_info_request({"a", "b"}); }), HasSubstr("unexpected argument 'b'"));
  EXPECT_THAT(usage_error([] { read_info_request({"a", "--verify", "--digest"}); }), HasSubstr("exclude"));
}

}  // namespace
}  // namespace trireme
