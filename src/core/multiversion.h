// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Puts several versions of a loop into the program, chosen by the CPU at start: the build targets the oldest
/// CPU of a cluster. As no multiply-add is fused, all give the same bits. Goes on a function of its own,
/// since the versions do not reach into OpenMP's outlined bodies. Sanitizers cannot instrument the choice.
#if defined(TRIREME_SANITIZED) || !defined(__x86_64__)
#define TRIREME_MULTIVERSION
#else
#define TRIREME_MULTIVERSION __attribute__((target_clones("default", "avx2", "avx512f")))
#endif

/// The same for function templates, of which clang cannot make versions.
#ifdef __clang__
#define TRIREME_MULTIVERSION_TEMPLATE
#else
#define TRIREME_MULTIVERSION_TEMPLATE TRIREME_MULTIVERSION
#endif
