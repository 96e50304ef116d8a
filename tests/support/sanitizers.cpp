// SPDX-License-Identifier: Apache-2.0
// What the sanitizers are told in every test program, so that a case that is rerun by hand behaves as in
// test.sh. Each suppression is a library that is not built with the sanitizer.
#include <cstdlib>

extern "C" {

const char* __asan_default_options();
int __lsan_is_turned_off();
const char* __ubsan_default_options();
const char* __tsan_default_options();
const char* __tsan_default_suppressions();

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

// Open MPI leaves memory of components that it has unloaded, which no suppression can name any more. Leaks
// are looked for in all programs that no mpirun started.
int __lsan_is_turned_off() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr ? 1 : 0;
}

const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}

// libgomp's barriers are futexes that ThreadSanitizer cannot see.
const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1:second_deadlock_stack=1";
}

const char* __tsan_default_suppressions() {
  return "called_from_lib:libgomp.so\n"
         "called_from_lib:libdnnl.so\n"
         "called_from_lib:libmpi.so\n"
         "called_from_lib:libopen-pal.so\n"
         "called_from_lib:libopen-rte.so\n"
         "race:libgomp\n"
         "race:libdnnl\n";
}

}  // extern "C"
