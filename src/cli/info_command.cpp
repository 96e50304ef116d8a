// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "src/cli/info.h"
#include "src/core/log.h"
#include "src/io/h5.h"
#include "src/io/path.h"
#include "src/train/flags.h"

namespace trireme {

namespace {

struct FileKind {
  std::string_view format;  ///< attribute trireme_format
  void (*tell)(const InfoRequest& request);
};
constexpr FileKind kFileKinds[] = {{"dataset", tell_about_dataset}, {"checkpoint", tell_about_checkpoint}};

std::string format_of(const std::string& path) {
  const H5File file = H5File::open_read(path);
  return file.has_attribute("trireme_format") ? file.read_text_attribute("trireme_format") : "";
}

void tell_about_file(const InfoRequest& request) {
  const std::string format = format_of(request.path);
  for (const FileKind& kind : kFileKinds)
    if (kind.format == format) return kind.tell(request);
  throw make_error(Status::bad_data, "neither a dataset nor a checkpoint of trireme: {}", request.path);
}

void tell_about_path(const InfoRequest& request) {
  if (!path_exists(request.path))
    throw make_error(Status::input_missing, "no such file or folder: {}", request.path);
  if (request.digest) {
    std::fputs((digest_text(request.path) + "\n").c_str(), stdout);
    return;
  }
  if (is_folder(request.path)) return tell_about_run(request);
  tell_about_file(request);
}

}  // namespace

const std::vector<SettingOf<InfoRequest>>& info_settings() {
  static const std::vector<SettingOf<InfoRequest>> table = [] {
    std::vector<SettingOf<InfoRequest>> rows;
    add_group<InfoRequest>(
        rows, "Settings",
        {setting("verify", &InfoRequest::verify, Switch{}, "false",
                 "read everything and compare checksums; status 65 if something is damaged"),
         setting("digest", &InfoRequest::digest, Switch{}, "false",
                 "print only a hash over the weights of a checkpoint, or of a run's latest one: equal hash, "
                 "equal "
                 "model bit for bit")});
    return rows;
  }();
  return table;
}

InfoRequest read_info_request(const std::vector<std::string>& arguments) {
  const CommandLine line = read_flags(arguments, infos_of(info_settings()));
  InfoRequest request;
  apply_flags(info_settings(), line, request);
  if (line.positionals.size() > 1)
    throw make_error(Status::usage, "unexpected argument '{}'", line.positionals[1])
        .hint("one file or folder at a time");
  if (!line.positionals.empty()) request.path = line.positionals.front();
  if (request.path.empty() && (request.verify || request.digest))
    throw Error(Status::usage, "--verify and --digest need a file or the folder of a run");
  if (request.verify && request.digest)
    throw Error(Status::usage, "--verify and --digest exclude each other");
  return request;
}

void print_row(std::string_view heading, std::string_view text) {
  std::fputs(fmt::format("{:<14} {}\n", heading, text).c_str(), stdout);
}

std::string info_help() {
  return "usage: trireme info [FILE | DIR] [settings]\n\n"
         "Tells about a packed file, a checkpoint or the folder of a run; without an argument about this "
         "build, the\n"
         "machine and (under mpirun or srun) the ranks.\n\n" +
         settings_help(infos_of(info_settings()));
}

Status run_info_command(const Invocation& invocation) {
  const InfoRequest request = read_info_request(invocation.arguments);
  if (request.path.empty()) return tell_about_build(invocation);
  if (invocation.launch.rank != 0) return Status::ok;
  log::setup(0, 1);
  tell_about_path(request);
  return Status::ok;
}

}  // namespace trireme
