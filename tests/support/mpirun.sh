#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpirun.sh RANKS PROGRAM [ARG ...]: runs a test program with that many ranks on this machine, as root too, with
# more ranks than cores. On failure prints the command that reruns it alone.
set -u
ranks=$1
shift
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
mpirun -n "$ranks" --oversubscribe --bind-to none "$@"
status=$?
if [ "$status" -ne 0 ]; then
  echo "rerun: $0 $ranks $* (status $status)" >&2
fi
exit "$status"
