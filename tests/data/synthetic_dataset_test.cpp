// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic_dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/data/packing.h"
#include "tests/data/pictures.h"

namespace trireme {
namespace {

using namespace testing_pictures;

TEST(SyntheticDataset, IsDescribedByItsText) {
  const auto dataset = open_alone("synthetic:20x30x3:7:21");
  EXPECT_TRUE(dataset->info().synthetic);
  EXPECT_EQ(dataset->info().sample_shape, (Shape{20, 30, 3}));
  EXPECT_EQ(dataset->info().num_classes(), 7);
  EXPECT_EQ(dataset->info().num_samples, 21);
  EXPECT_EQ(open_alone("synthetic:20x30x1:7")->info().num_samples, 10000);
  std::vector<int> counts(7);
  for (std::int64_t i = 0; i < 21; ++i) ++counts[static_cast<std::size_t>(dataset->label(i))];
  for (const int count : counts) EXPECT_EQ(count, 3);
  Picture picture;
  dataset->read(20, picture);
  EXPECT_EQ(picture.height, 20);
  EXPECT_EQ(picture.width, 30);
  EXPECT_EQ(picture.channels, 3);
  EXPECT_THROW(dataset->read(21, picture), Error);
}

TEST(SyntheticDataset, WrongTextsAreRefused) {
  for (const char* text : {"synthetic:", "synthetic:32x32x3", "synthetic:32x32:10",
                           "synthetic:32x32x3:10:5:6", "synthetic:ax32x3:10", "synthetic:32x32x3:",
                           "synthetic:32x32x3:10:", "synthetic:32x32x3: 10", "synthetic:32x32x3:1e3"})
    EXPECT_EQ(error_of([&] { open_alone(text); }).status(), Status::usage) << text;
  for (const char* text : {"synthetic:0x32x3:10", "synthetic:32x-1x3:10", "synthetic:32x32x2:10",
                           "synthetic:32x32x3:0", "synthetic:32x32x3:10:0", "synthetic:99999x32x3:10"})
    EXPECT_EQ(error_of([&] { open_alone(text); }).status(), Status::configuration) << text;
}

TEST(SyntheticDataset, DependsOnSeedAndSampleOnly) {
  const SyntheticDataset dataset("synthetic:16x16x3:10", 1), again("synthetic:16x16x3:10", 1),
      other("synthetic:16x16x3:10", 2);
  Picture a, b;
  dataset.read(5, a);
  std::thread([&] { again.read(5, b); }).join();
  EXPECT_EQ(a.pixels, b.pixels);
  dataset.read(15, b);
  EXPECT_NE(a.pixels, b.pixels);
  other.read(5, b);
  EXPECT_NE(a.pixels, b.pixels);
  EXPECT_EQ(dataset.info().fingerprint, again.info().fingerprint);
  EXPECT_NE(dataset.info().fingerprint, other.info().fingerprint);
}

TEST(SyntheticDataset, StatisticsAreWhatItSays) {
  const SyntheticDataset dataset("synthetic:16x16x3:200", 3);
  double sum = 0, squares = 0, count = 0;
  Picture picture;
  for (std::int64_t i = 0; i < 400; ++i) {
    dataset.read(i, picture);
    for (const std::uint8_t value : picture.pixels) {
      sum += value / 255.0;
      squares += value / 255.0 * value / 255.0;
      ++count;
    }
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, dataset.info().channel_mean[0], 0.005);
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean), dataset.info().channel_std[0], 0.005);
}

// The nearest of the classes' mean pictures tells the class of samples that went into no mean.
TEST(SyntheticDataset, ClassesCanBeTold) {
  constexpr std::size_t kClasses = 10;
  const SyntheticDataset dataset("synthetic:12x12x3:10", 4);
  std::vector<std::vector<double>> means(kClasses, std::vector<double>(12 * 12 * 3));
  Picture picture;
  for (std::int64_t i = 0; i < 200; ++i) {
    dataset.read(i, picture);
    auto& mean = means[static_cast<std::size_t>(dataset.label(i))];
    for (std::size_t p = 0; p < mean.size(); ++p) mean[p] += picture.pixels[p] / 20.0;
  }
  int right = 0;
  for (std::int64_t i = 200; i < 300; ++i) {
    dataset.read(i, picture);
    std::vector<double> distance(kClasses);
    for (std::size_t k = 0; k < kClasses; ++k)
      for (std::size_t p = 0; p < picture.pixels.size(); ++p)
        distance[k] += std::pow(picture.pixels[p] - means[k][p], 2);
    right += std::min_element(distance.begin(), distance.end()) - distance.begin() == dataset.label(i);
  }
  EXPECT_GE(right, 98);
}

}  // namespace
}  // namespace trireme
