// SPDX-License-Identifier: Apache-2.0
#include "src/cli/pack_settings.h"

#include "src/cli/usable_cores.h"
#include "src/core/parse.h"
#include "src/train/flags.h"

namespace trireme {

namespace {

using C = PackRequest;
using Row = SettingOf<C>;

// Names of classes, comma-separated.
struct Names {
  using Value = std::vector<std::string>;
  std::string value_name() const { return "NAME,NAME"; }
  Value read(std::string_view text) const {
    Value names = split(text, ',');
    for (const std::string& name : names)
      if (name.empty()) throw bad_value("'{}' has an empty name", text);
    return names;
  }
  std::string write(const Value& value) const { return fmt::format("{}", fmt::join(value, ",")); }
};

struct SplitValue {
  using Value = std::optional<PackSplit>;
  std::string value_name() const { return "NAME=SHARE"; }
  Value read(std::string_view text) const { return parse_split(text); }
  std::string write(const Value& value) const {
    return value ? fmt::format("{}={}", value->name, value->fraction) : "";
  }
};

struct SizeValue {
  using Value = std::optional<PackSize>;
  std::string value_name() const { return "HxW"; }
  Value read(std::string_view text) const { return parse_size(text); }
  std::string write(const Value& value) const {
    return value ? fmt::format("{}x{}", value->height, value->width) : "";
  }
};

// Fields of PackOptions, seen as fields of PackRequest.
template <typename Field, typename Kind>
Row row(std::string_view name, Field PackOptions::*field, const Kind& kind, std::string_view default_text,
        std::string_view help) {
  return setting<C, Field, Kind>(name, static_cast<Field C::*>(field), kind, default_text, help);
}

std::vector<Row> source_settings() {
  const EnumChoice<PackFormat> format{
      {{"auto", PackFormat::automatic}, {"folder", PackFormat::folder}, {"idx", PackFormat::idx}}};
  const EnumChoice<OnError> on_error{{{"fail", OnError::fail}, {"skip", OnError::skip}}};
  return {
      row("format", &C::format, format, "auto",
          "folder: SOURCE/CLASS/picture (JPEG, PNG); idx: files as of MNIST, plain or gzip"),
      row("class-names", &C::class_names, Names{}, "", "names of the classes of idx files, in order"),
      row("on-error", &C::on_error, on_error, "fail",
          "what a damaged picture does: end the packing, or be skipped and counted"),
  };
}

std::vector<Row> picture_settings() {
  const EnumChoice<Encoding> encode{{{"raw", Encoding::raw}, {"jpeg", Encoding::jpeg}}};
  return {
      row("encode", &C::encode, encode, "raw", "store pixels (one size for all), or JPEG files (any sizes)"),
      row("resize", &C::resize, Integer{1, 1 << 15, "no"}, "no",
          "make the shorter side this long, in pixels"),
      row("crop", &C::crop, Integer{1, 1 << 15, "no"}, "no",
          "keep the centre square of this side, in pixels"),
      row("size", &C::size, SizeValue{}, "", "make every picture exactly this size, in pixels"),
  };
}

std::vector<Row> output_settings() {
  const EnumChoice<PackOrder> order{{{"shuffled", PackOrder::shuffled}, {"source", PackOrder::source}}};
  return {
      row("output", &C::output, Text{"FILE"}, "", "the HDF5 file to write").with_letter('o'),
      row("split", &C::split, SplitValue{}, "",
          "put this share of each class into a second file: val=0.1 writes OUTPUT-val.h5, too"),
      row("order", &C::order, order, "shuffled", "order of the pictures in the file"),
      row("seed", &C::seed, Integer{}, "0", "of the shuffled order and of the split"),
      row("threads", &C::threads, Integer{1, 1024, "auto"}, "auto", "threads that read pictures"),
      row("force", &C::force, Switch{}, "false", "replace an existing file"),
      setting("quiet", &C::quiet, Switch{}, "false", "print errors and warnings only"),
  };
}

}  // namespace

const std::vector<Row>& pack_settings() {
  static const std::vector<Row> table = [] {
    std::vector<Row> rows;
    add_group<C>(rows, "Source", source_settings());
    add_group<C>(rows, "Pictures", picture_settings());
    add_group<C>(rows, "Output", output_settings());
    return rows;
  }();
  return table;
}

PackRequest read_pack_request(const std::vector<std::string>& arguments) {
  const CommandLine line = read_flags(arguments, infos_of(pack_settings()));
  PackRequest request;
  apply_defaults(pack_settings(), request);
  apply_flags(pack_settings(), line, request);
  request.sources = line.positionals;
  if (request.sources.empty())
    throw Error(Status::usage, "no source")
        .hint("trireme pack FOLDER -o FILE packs the pictures below a folder");
  if (request.output.empty()) throw Error(Status::usage, "missing -o FILE (the file to write)");
  if (request.threads == 0) request.threads = read_usable_cores().threads();
  return request;
}

}  // namespace trireme
