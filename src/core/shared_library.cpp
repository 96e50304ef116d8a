// SPDX-License-Identifier: Apache-2.0
#include "src/core/shared_library.h"

#include <dlfcn.h>

namespace trireme {

SharedLibrary::SharedLibrary(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* const reason = dlerror();
  reason_ = reason != nullptr ? reason : "unknown reason";
}

void* SharedLibrary::find(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace trireme
