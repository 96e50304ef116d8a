// SPDX-License-Identifier: Apache-2.0
#include "src/cli/build_facts.h"

#include "src/comm/world.h"

namespace trireme {

std::string program_version() {
  return TRIREME_VERSION;
}

std::vector<std::pair<std::string, std::string>> build_facts() {
  const std::string build_type = TRIREME_BUILD_TYPE;
  return {{"compiler", TRIREME_COMPILER + (build_type.empty() ? "" : " (" + build_type + ")")},
          {"MPI", mpi_library_name()},
          {"HDF5", TRIREME_HDF5},
          {"oneDNN", TRIREME_ONEDNN}};
}

}  // namespace trireme
