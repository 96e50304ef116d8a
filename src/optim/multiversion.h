// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Puts several versions of an elementwise loop into the program, chosen by the CPU at start. As no
/// multiply-add is fused, all give the same bits. Sanitizers cannot instrument the choice.
#if defined(TRIREME_SANITIZED) || !defined(__x86_64__)
#define TRIREME_MULTIVERSION
#else
#define TRIREME_MULTIVERSION __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
