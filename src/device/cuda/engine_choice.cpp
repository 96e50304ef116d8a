// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/engine_choice.h"

#include <fmt/format.h>

#include <utility>

#include "src/core/error.h"
#include "src/core/parse.h"

namespace trireme {
namespace {

constexpr std::array<std::pair<std::string_view, Engine>, 2> kWords{
    {{"native", Engine::native}, {"cudnn", Engine::cudnn}}};
constexpr std::string_view kNoChoice = "-";
constexpr std::array<std::string_view, 4> kPrecisionWords = {"fp32", "tf32", "bf16", "fp16"};

std::size_t index_of(ConvolutionPass pass) {
  return static_cast<std::size_t>(pass);
}

std::string_view word_of(std::optional<Engine> engine) {
  for (const auto& [word, value] : kWords)
    if (engine == value) return word;
  return kNoChoice;
}

Error bad_choices(std::string_view part) {
  return make_error(Status::configuration, "'{}' is no choice of engines", part)
      .at("choices of convolution engines")
      .hint("measure again: the table was written by another version, or by hand");
}

std::optional<Engine> read_word(std::string_view text, std::string_view part) {
  if (text == kNoChoice) return std::nullopt;
  for (const auto& [word, value] : kWords)
    if (text == word) return value;
  throw bad_choices(part);
}

}  // namespace

std::string_view pass_name(ConvolutionPass pass) {
  constexpr std::array<std::string_view, 3> kNames = {"forward", "backward data", "backward weights"};
  return kNames[index_of(pass)];
}

std::string convolution_key(Precision precision, const kernels::Conv2dShape& shape,
                            const ConvolutionUse& use) {
  std::string key =
      fmt::format("{}/{}x{}x{}x{}/{}/{}x{}/{}x{}/{}x{}", kPrecisionWords[static_cast<std::size_t>(precision)],
                  shape.batch, shape.in_h, shape.in_w, shape.in_channels, shape.out_channels, shape.kernel_h,
                  shape.kernel_w, shape.stride_h, shape.stride_w, shape.pad_h, shape.pad_w);
  if (use.feeds_batch_norm) key += "/bn";
  if (use.bias) key += "/bias";
  if (use.relu) key += "/relu";
  if (use.input_is_relu) key += "/relu-input";
  return key;
}

std::optional<Engine> EngineChoices::find(const std::string& key, ConvolutionPass pass) const {
  const auto row = rows_.find(key);
  return row == rows_.end() ? std::nullopt : row->second[index_of(pass)];
}

void EngineChoices::set(const std::string& key, ConvolutionPass pass, Engine engine) {
  TRIREME_ASSERT(engine != Engine::automatic, "a choice is an engine");
  rows_[key][index_of(pass)] = engine;
}

std::string EngineChoices::text() const {
  std::string text;
  for (const auto& [key, row] : rows_) {
    if (!text.empty()) text += ';';
    text += fmt::format("{}={},{},{}", key, word_of(row[0]), word_of(row[1]), word_of(row[2]));
  }
  return text;
}

EngineChoices EngineChoices::parse(std::string_view text) {
  EngineChoices choices;
  if (text.empty()) return choices;
  for (const std::string& part : split(text, ';')) {
    const std::vector<std::string> sides = split(part, '=');
    if (sides.size() != 2 || sides[0].empty()) throw bad_choices(part);
    const std::vector<std::string> words = split(sides[1], ',');
    Row row;
    if (words.size() != row.size() || choices.rows_.contains(sides[0])) throw bad_choices(part);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = read_word(words[i], part);
    choices.rows_[sides[0]] = row;
  }
  return choices;
}

}  // namespace trireme
