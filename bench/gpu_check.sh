#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tells the truth about this program on a real GPU in under five minutes: kernels against their references, layers
# against cuDNN and the card's ceilings, whole training steps, one epoch of CIFAR-10. --help says more.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! command -v python3 >/dev/null; then
  echo "gpu_check.sh: python3 is missing" >&2
  exit 69
fi
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$here/gpu_check/main.py" "$@"
