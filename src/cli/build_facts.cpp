// SPDX-License-Identifier: Apache-2.0
#include "src/cli/build_facts.h"

#include <mpi.h>

namespace trireme {

namespace {

// The library that runs, which need not be the one that the headers came from. May be asked before MPI_Init.
std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown";
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace

std::string program_version() {
  return TRIREME_VERSION;
}

std::vector<std::pair<std::string, std::string>> build_facts() {
  const std::string build_type = TRIREME_BUILD_TYPE;
  return {{"compiler", TRIREME_COMPILER + (build_type.empty() ? "" : " (" + build_type + ")")},
          {"MPI", mpi_library()},
          {"HDF5", TRIREME_HDF5},
          {"oneDNN", TRIREME_ONEDNN},
          {"CUDA", "not in this build"},
          {"NCCL", "not in this build"}};
}

}  // namespace trireme
