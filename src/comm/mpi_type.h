// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "src/core/dtype.h"

namespace trireme {

/// The MPI datatype that moves elements of `type`. MPI has no 16-bit floats: those travel as bits and cannot
/// be summed by MPI.
inline MPI_Datatype mpi_type(DType type) {
  switch (type) {
    case DType::u8:
      return MPI_UINT8_T;
    case DType::bf16:
    case DType::f16:
      return MPI_UINT16_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

}  // namespace trireme
