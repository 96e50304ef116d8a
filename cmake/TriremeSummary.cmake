# SPDX-License-Identifier: Apache-2.0
# Said once at the end of configuring, so that a site sees what its build has.

message(STATUS "")
message(STATUS "Trireme ${PROJECT_VERSION}")
message(STATUS "  build type   ${CMAKE_BUILD_TYPE}${TRIREME_SANITIZE}")
message(STATUS "  compiler     ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
message(STATUS "  MPI          ${MPI_C_VERSION} (${MPI_C_LIBRARIES})")
message(STATUS "  HDF5         ${TRIREME_HDF5_KIND}")
message(STATUS "  oneDNN       ${DNNL_VERSION}")
message(STATUS "  CUDA         ${TRIREME_HAVE_CUDA} (TRIREME_CUDA=${TRIREME_CUDA})")
message(STATUS "  cuDNN        ${TRIREME_HAVE_CUDNN} (TRIREME_CUDNN=${TRIREME_CUDNN})")
message(STATUS "  NCCL         ${TRIREME_HAVE_NCCL} (TRIREME_NCCL=${TRIREME_NCCL})")
message(STATUS "")
