#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Trireme with warnings as errors and runs its tests. --help tells the rest.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 70
source scripts/packages.sh

usage() {
  cat <<'HELP'
usage: ./test.sh [--all] [--fail-on-skip] [--no-install] [--filter REGEX]

Builds build/release and runs every test and lint there, and the kernels' tests in build/asan too. Where there is a CUDA
toolkit, nvcc compiles the kernels; without one their suites are skipped, which is said. Ends with "N passed, N failed";
the exit status is 0 only if tests ran and none failed. A failing case prints the command that reruns it alone.

  --all            also the long tests, and the asan and tsan builds with the tests that make sense in them
  --fail-on-skip   a suite that cannot run here is a failure
  --filter REGEX   only tests whose CTest name matches
  --no-install     never call apt-get; list what is missing and exit with status 78
HELP
}

all=no
fail_on_skip=no
install=yes
filter=.
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=yes ;;
    --fail-on-skip) fail_on_skip=yes ;;
    --no-install) install=no ;;
    --filter)
      if [ $# -lt 2 ]; then
        echo "test.sh: --filter needs a regular expression" >&2
        exit 64
      fi
      filter=$2
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "test.sh: unknown option $1" >&2
      usage >&2
      exit 64
      ;;
  esac
  shift
done

# What each build runs, as CTest options. In the asan build the end-to-end tests would repeat at a tenth of the speed
# what the release build ran; in the tsan build only code with several threads is of interest: ours, and kernels.
ctest_options() {
  case "$1-$all" in
    release-no) echo "-LE long" ;;
    release-yes) ;;
    asan-no) echo "-L ^kernels$" ;;
    asan-yes) echo "-LE long|lint|e2e|golden|layers" ;;
    tsan-*) echo "-L threads|^kernels$" ;;
  esac
}

# What each build needs for that. Without a CUDA toolkit there are no targets of kernels.
targets_of() {
  case "$1-$all" in
    release-*)
      echo all
      if has_target release kernel_tests; then echo kernel_tests; fi
      if has_target release cuda_kernels; then echo cuda_kernels; fi
      ;;
    asan-no) echo kernel_tests ;;
    asan-yes) echo all ;;
    tsan-*)
      echo thread_tests
      if has_target tsan kernel_tests; then echo kernel_tests; fi
      ;;
  esac
}

# Said at the end: nobody should believe that kernels were tested where they were not.
note_suites_left_out() {
  if ! has_target release kernel_tests; then
    suites_left_out+=("kernels under the emulator: no headers of a CUDA toolkit, 12.5 or newer")
  fi
  if ! has_target release cuda_kernels; then
    suites_left_out+=("kernels compiled by nvcc: no nvcc of a CUDA toolkit, 12.5 or newer")
  fi
}

has_target() { ninja -C "build/$1" -t query "$2" >/dev/null 2>&1; }

install_packages "$install" build run demo test || exit

passed=0
failed=0
skipped=0
broken=()
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT
presets=(release asan)
if [ "$all" = yes ]; then presets+=(tsan); fi
suites_left_out=()
jobs=$(nproc)

for preset in "${presets[@]}"; do
  echo "== $preset: build"
  begin=$SECONDS
  cmake --preset "$preset" -DTRIREME_TESTS=ON -DTRIREME_CUDA="${TRIREME_CUDA:-AUTO}" || broken+=("$preset: configuring failed")
  if [ "$preset" = release ]; then note_suites_left_out; fi
  if [ "$preset-$all" = asan-no ] && ! has_target asan kernel_tests; then continue; fi
  mapfile -t targets < <(targets_of "$preset")
  if ! cmake --build --preset "$preset" --target "${targets[@]}"; then
    echo "test.sh: the $preset build failed" >&2
    broken+=("$preset build")
    continue
  fi
  echo "== $preset: test (built in $((SECONDS - begin)) s)"
  begin=$SECONDS
  rm -f "build/$preset/test-report.xml"
  read -r -a selection <<<"$(ctest_options "$preset")"
  ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --timeout 600 -R "$filter" \
    --output-junit test-report.xml "${selection[@]}"
  read -r ran_well ran_badly left_out < <(scripts/test_report.py "build/$preset" "$failures")
  passed=$((passed + ran_well))
  failed=$((failed + ran_badly))
  skipped=$((skipped + left_out))
  if [ $((ran_well + ran_badly)) -eq 0 ] && [ "$filter" = . ]; then broken+=("$preset: no test ran"); fi
  echo "== $preset: $ran_well passed, $ran_badly failed, $left_out skipped in $((SECONDS - begin)) s"
done

cat "$failures" >&2
for suite in "${suites_left_out[@]}"; do
  echo "test.sh: skipped: $suite" >&2
  if [ "$fail_on_skip" = yes ]; then broken+=("a suite was skipped: $suite"); fi
done
for what in "${broken[@]}"; do echo "test.sh: $what" >&2; done
failed=$((failed + ${#broken[@]}))
closing="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then closing+=", $skipped skipped"; fi
echo "$closing"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
