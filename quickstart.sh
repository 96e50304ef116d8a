#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 machine to a trained network: builds Trireme, packs Fashion-MNIST, trains resnet20 on two
# ranks, evaluates it. --help tells the rest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source scripts/packages.sh

usage() {
  cat <<'HELP'
usage: ./quickstart.sh [--no-install] [FOLDER]

Builds the program (build/release/trireme), packs Fashion-MNIST into FOLDER (default build/quickstart), trains
resnet20 for three epochs with mpirun -n 2, and evaluates. Succeeds if top-1 reaches 91 %. A second time it reuses
the build and the packed files, and replaces its own run.

  --no-install   never call apt-get; list what is missing and exit with status 78
HELP
}

install=yes
folder=build/quickstart
folder_given=no
for argument in "$@"; do
  case "$argument" in
    --no-install) install=no ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*)
      echo "quickstart.sh: unknown option $argument" >&2
      usage >&2
      exit 64
      ;;
    *)
      if [ "$folder_given" = yes ]; then
        echo "quickstart.sh: more than one folder: $folder and $argument" >&2
        exit 64
      fi
      folder=$argument
      folder_given=yes
      ;;
  esac
done

begin=$SECONDS
target=0.91
idx=/usr/share/datasets/fashion-mnist
trireme=build/release/trireme
run=$folder/run
classes="T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"

say() { printf '\n== %s\n' "$*"; }

say "packages"
install_packages "$install" build run demo
echo "all there"

say "build"
cuda=OFF # CUDA only where a GPU answers: compiling for none takes minutes
if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then cuda=AUTO; fi
cmake --preset release -DTRIREME_TESTS=OFF -DTRIREME_CUDA="$cuda"
cmake --build --preset release --target trireme

say "pack Fashion-MNIST"
mkdir -p "$folder"
for part in train t10k; do
  if [ ! -e "$folder/$part.h5" ]; then
    "$trireme" pack "$idx/$part-images-idx3-ubyte.gz" --class-names "$classes" -o "$folder/$part.h5"
  fi
  "$trireme" info "$folder/$part.h5"
done

say "train resnet20 on two ranks"
rm -rf "$run"
# Two ranks also where MPI counts one core.
mpi_run() { mpirun --map-by :OVERSUBSCRIBE -n 2 "$trireme" "$@"; }
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
mpi_run train --data "$folder/train.h5" --val "$folder/t10k.h5" --model resnet20 --epochs 3 \
  --global-batch 128 --lr 0.1 --augment none -o "$run"

say "evaluate"
mpi_run eval --data "$folder/t10k.h5" --checkpoint "$run" | tee "$folder/eval.txt"
top1=$(grep -o 'top1=[0-9.]*' "$folder/eval.txt" | cut -d= -f2)

say "done in $((SECONDS - begin)) s"
cat <<END
test accuracy  $(awk -v x="${top1:-0}" 'BEGIN { printf "%.2f %%", 100 * x }')
datasets       $folder/train.h5  $folder/t10k.h5
run            $run  (config.ini, log.jsonl, checkpoints/)
next           docs/training.md; $trireme train --help
END
if ! awk -v x="${top1:-0}" -v target="$target" 'BEGIN { exit !(x >= target) }'; then
  echo "quickstart.sh: top-1 ${top1:-unknown} is below $target" >&2
  exit 1
fi
