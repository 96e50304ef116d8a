// SPDX-License-Identifier: Apache-2.0
#include "src/io/h5.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <thread>

#include "src/core/error.h"
#include "tests/support/temporary_folder.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Function>
Error error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(Status::ok, "none");
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(H5, NumbersOfEveryTypeComeBackExactly) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const std::vector<float> floats{1.5F, -0.0F, 3e38F, 1e-45F};
  const std::vector<std::uint64_t> words{0, std::numeric_limits<std::uint64_t>::max()};
  const std::vector<std::int32_t> ints{std::numeric_limits<std::int32_t>::min(), -1, 7};
  const std::vector<double> doubles{0.1, 1e300};
  {
    H5File file = H5File::create(path);
    file.write<float>("group/inner/floats", Shape{2, 2}, floats.data());
    file.write<std::uint64_t>("words", Shape{2}, words.data());
    file.write<std::int32_t>("ints", Shape{3}, ints.data());
    file.write<double>("group/doubles", Shape{2}, doubles.data());
    file.write<std::uint8_t>("empty", Shape{0}, nullptr);
    file.close();
  }
  const H5File file = H5File::open_read(path);
  EXPECT_EQ(file.read<float>("group/inner/floats"), floats);
  EXPECT_TRUE(std::signbit(file.read<float>("group/inner/floats")[1]));
  EXPECT_EQ(file.open_dataset("group/inner/floats").shape(), (Shape{2, 2}));
  EXPECT_EQ(file.read<std::uint64_t>("words"), words);
  EXPECT_EQ(file.read<std::int32_t>("ints"), ints);
  EXPECT_EQ(file.read<std::int64_t>("ints")[0], std::int64_t{std::numeric_limits<std::int32_t>::min()});
  EXPECT_EQ(file.read<double>("group/doubles"), doubles);
  EXPECT_TRUE(file.read<std::uint8_t>("empty").empty());
  EXPECT_THAT(file.members(), ElementsAre("empty", "group", "ints", "words"));
  EXPECT_THAT(file.members("group"), ElementsAre("doubles", "inner"));
  EXPECT_TRUE(file.has("group/inner/floats"));
  EXPECT_TRUE(file.has("/group/inner"));
  EXPECT_FALSE(file.has("group/other/floats"));
  EXPECT_FALSE(file.has("groups"));
}

TEST(H5, AttributesAndStringsComeBackExactly) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  const std::vector<std::string> names{"chat", "", "größe 猫", std::string(100000, 'x')};
  const std::vector<std::int64_t> shape{32, 40, 3};
  {
    H5File file = H5File::create(path);
    file.write_text_attribute("format", "dataset");
    file.write_text_attribute("none", "");
    file.write_attribute<std::uint64_t>("seed", ~std::uint64_t{0});
    file.write_attribute<double>("ratio", 0.1);
    file.write_attribute<std::int64_t>("shape", shape);
    file.write_strings("names", names);
    file.write_text("text", std::string(200000, 'y') + "\nend");
    file.write_attribute<std::int64_t>("of_names", 5, "names");
    file.close();
  }
  const H5File file = H5File::open_read(path);
  EXPECT_EQ(file.read_text_attribute("format"), "dataset");
  EXPECT_EQ(file.read_text_attribute("none"), "");
  EXPECT_EQ(file.read_attribute<std::uint64_t>("seed"), ~std::uint64_t{0});
  EXPECT_EQ(file.read_attribute<double>("ratio"), 0.1);
  EXPECT_EQ(file.read_attribute_array<std::int64_t>("shape"), shape);
  EXPECT_EQ(file.read_strings("names"), names);
  EXPECT_EQ(file.read_text("text"), std::string(200000, 'y') + "\nend");
  EXPECT_EQ(file.read_attribute<std::int64_t>("of_names", "names"), 5);
  EXPECT_TRUE(file.has_attribute("seed"));
  EXPECT_FALSE(file.has_attribute("seed", "names"));
  EXPECT_FALSE(file.has_attribute("seed", "nowhere"));
}

TEST(H5, BigDatasetsAreWrittenByRowsAtAnAlignedAddress) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  std::vector<std::uint8_t> rows(300 * 1000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * 7 + i / 1000);
  {
    H5File file = H5File::create(path, H5Alignment::stripes);
    file.write_text_attribute("format", "x");
    H5Dataset dataset = file.create_dataset<std::uint8_t>("images", Shape{300, 10, 100});
    for (std::int64_t first = 0; first < 300; first += 70) {
      const std::int64_t count = std::min<std::int64_t>(70, 300 - first);
      dataset.write_rows(first, count, rows.data() + first * 1000);
    }
    file.close();
  }
  const H5File file = H5File::open_read(path);
  const H5Dataset dataset = file.open_dataset("images");
  EXPECT_EQ(dataset.element(), H5Element::u8);
  ASSERT_TRUE(dataset.address().has_value());
  EXPECT_EQ(*dataset.address() % (1 << 20), 0U);
  const std::string bytes = bytes_of(path);
  ASSERT_GE(bytes.size(), *dataset.address() + rows.size());
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(),
                         bytes.begin() + static_cast<std::ptrdiff_t>(*dataset.address()),
                         [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }));
  std::vector<std::uint8_t> part(2000);
  dataset.read_rows(123, 2, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), rows.begin() + 123000));
}

TEST(H5File, PacksManyObjectsUnlessStripesAreAskedFor) {
  const TemporaryFolder folder;
  const std::vector<float> values(20000, 1.0F);
  const auto size_with = [&](H5Alignment alignment) {
    const std::string path = folder / "file.h5";
    H5File file = H5File::create(path, alignment);
    for (int i = 0; i < 4; ++i) file.write<float>(fmt::format("tensor{}", i), Shape{20000}, values.data());
    file.close();
    return bytes_of(path).size();
  };
  EXPECT_LT(size_with(H5Alignment::none), 4 * 80000U + 16384U);
  EXPECT_GT(size_with(H5Alignment::stripes), std::size_t{3} << 20);
}

TEST(H5, EqualContentGivesEqualBytes) {
  const TemporaryFolder folder;
  const std::vector<std::string> names{"a", "bb", "ccc"};
  const std::vector<float> values(50000, 1.25F);
  const auto write = [&](const std::string& path) {
    H5File file = H5File::create(path);
    file.write_attribute<std::int64_t>("version", 1);
    file.write_strings("names", names);
    file.write<float>("group/values", Shape{50000}, values.data());
    file.close();
  };
  write(folder / "a.h5");
  std::this_thread::sleep_for(
      std::chrono::milliseconds(1100));  // times in HDF5 files have a second's resolution
  write(folder / "b.h5");
  EXPECT_EQ(bytes_of(folder / "a.h5"), bytes_of(folder / "b.h5"));
}

TEST(H5, WrongInputIsSaidWithFileAndObject) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { H5File::open_read(folder / "absent.h5"); }).status(), Status::input_missing);
  EXPECT_EQ(error_of([&] { H5File::open_read(folder.path()); }).status(), Status::input_missing);
  std::ofstream(folder / "text.h5") << "this is not HDF5";
  const Error text = error_of([&] { H5File::open_read(folder / "text.h5"); });
  EXPECT_EQ(text.status(), Status::bad_data);
  EXPECT_THAT(text.what(), HasSubstr("not an HDF5 file"));
  EXPECT_THAT(text.what(), HasSubstr("text.h5"));
  EXPECT_EQ(error_of([&] { H5File::create(folder / "no/such/folder.h5"); }).status(), Status::cannot_create);

  {
    H5File file = H5File::create(folder / "a.h5");
    const std::vector<float> values(100000);
    file.write<float>("values", Shape{100000}, values.data());
    file.write_text_attribute("text", "12");
    file.close();
  }
  {
    const H5File file = H5File::open_read(folder / "a.h5");
    const Error absent = error_of([&] { file.read<float>("other"); });
    EXPECT_EQ(absent.status(), Status::bad_data);
    EXPECT_THAT(absent.what(), AllOf(HasSubstr("other"), HasSubstr("a.h5")));
    EXPECT_EQ(error_of([&] { file.read_strings("values"); }).status(), Status::bad_data);
    EXPECT_EQ(error_of([&] { file.read_attribute<std::int64_t>("text"); }).status(), Status::bad_data);
    EXPECT_EQ(error_of([&] { file.read_attribute<std::int64_t>("absent"); }).status(), Status::bad_data);
    EXPECT_EQ(error_of([&] { file.read_text_attribute("absent"); }).status(), Status::bad_data);
    EXPECT_EQ(error_of([&] { file.members("absent"); }).status(), Status::bad_data);
  }

  std::filesystem::resize_file(folder / "a.h5", 100000);
  const Error truncated = error_of([&] { H5File::open_read(folder / "a.h5"); });
  EXPECT_EQ(truncated.status(), Status::bad_data);
  EXPECT_THAT(truncated.what(), HasSubstr("truncated"));
}

TEST(H5, HoldsNoLockWhileOpen) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  H5File writer = H5File::create(path);
  const std::int32_t value = 1;
  writer.write<std::int32_t>("value", Shape{1}, &value);
  writer.close();
  const H5File reader = H5File::open_read(path);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  ::close(fd);
}

// Runs in a child, because the limit stays with the process.
int status_under_file_limit(std::size_t limit, const std::string& path, std::size_t count) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit file_size{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &file_size);
    int status = 0;
    try {
      H5File file = H5File::create(path);
      const std::vector<double> values(count, 1);
      file.write<double>("values", Shape{static_cast<std::int64_t>(count)}, values.data());
      file.close();
    } catch (const Error& error) {
      status = static_cast<int>(error.status());
    }
    std::exit(status);  // as a program ends: HDF5 cleans up behind a failed write
  }
  int state = 0;
  ::waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

TEST(H5, AFullDiskIsAnInputOutputError) {
  const TemporaryFolder folder;
  EXPECT_EQ(status_under_file_limit(4 << 20, folder / "fits.h5", 10000), 0);
  EXPECT_EQ(status_under_file_limit(1 << 16, folder / "data.h5", 10000), 74);  // the data does not fit
  EXPECT_EQ(status_under_file_limit(1000, folder / "metadata.h5", 10), 74);    // what close() writes does not
}

TEST(H5, ManyThreadsMayReadAtOnce) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  std::vector<std::int32_t> values(1000);
  std::iota(values.begin(), values.end(), 0);
  {
    H5File file = H5File::create(path);
    file.write<std::int32_t>("values", Shape{1000}, values.data());
    file.close();
  }
  const H5File file = H5File::open_read(path);
  const H5Dataset dataset = file.open_dataset("values");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = t; i < 1000; i += 10) {
        std::int32_t value = -1;
        dataset.read_rows(i, 1, &value);
        if (value != i) ++wrong;
        if (file.has("absent")) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace trireme
