# SPDX-License-Identifier: Apache-2.0
# One target per folder: trireme_library(name DEPS ...) makes trireme_<name> from the folder's *.cpp.

add_library(trireme_options INTERFACE)
target_include_directories(trireme_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(trireme_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # The same bits on every machine: no fused multiply-add that the source does not spell.
  -ffp-contract=off
  $<$<BOOL:${TRIREME_WERROR}>:-Werror>)
target_compile_definitions(trireme_options INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

if(TRIREME_SANITIZE STREQUAL "address+undefined")
  set(sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(TRIREME_SANITIZE STREQUAL "thread")
  set(sanitize_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(TRIREME_SANITIZE)
  message(FATAL_ERROR "TRIREME_SANITIZE=${TRIREME_SANITIZE}: must be empty, address+undefined or thread")
endif()
if(sanitize_flags)
  target_compile_options(trireme_options INTERFACE ${sanitize_flags})
  target_link_options(trireme_options INTERFACE ${sanitize_flags})
  target_compile_definitions(trireme_options INTERFACE TRIREME_SANITIZED)
endif()

function(trireme_library name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  add_library(trireme_${name} STATIC ${sources})
  target_link_libraries(trireme_${name} PUBLIC trireme_options ${arg_DEPS})
endfunction()
