#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Trireme with warnings as errors and runs its tests. --help tells the rest.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 70
source scripts/packages.sh

usage() {
  cat <<'HELP'
usage: ./test.sh [--all] [--no-install] [--filter REGEX]

Builds build/release and runs every test and lint there. Ends with "N passed, N failed"; the exit status is 0 only if
tests ran and none failed. A failing case prints the command that reruns it alone.

  --all            also the long tests, and the asan and tsan builds with the tests that make sense in them
  --filter REGEX   only tests whose CTest name matches
  --no-install     never call apt-get; list what is missing and exit with status 78
HELP
}

all=no
install=yes
filter=.
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=yes ;;
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
# what the release build ran; in the tsan build only code with several threads of our own is of interest.
ctest_options() {
  case "$1" in
    release) if [ "$all" = no ]; then echo "-LE long"; fi ;;
    asan) echo "-LE long|lint|e2e|golden" ;;
    tsan) echo "-L threads" ;;
  esac
}

# What each build needs for that.
target_of() {
  case "$1" in
    tsan) echo thread_tests ;;
    *) echo all ;;
  esac
}

install_packages "$install" build run demo test || exit

passed=0
failed=0
skipped=0
broken=()
failures=$(mktemp)
trap 'rm -f "$failures"' EXIT
presets=(release)
if [ "$all" = yes ]; then presets+=(asan tsan); fi
jobs=$(nproc)

for preset in "${presets[@]}"; do
  echo "== $preset: build"
  begin=$SECONDS
  if ! { cmake --preset "$preset" -DTRIREME_TESTS=ON && cmake --build --preset "$preset" --target "$(target_of "$preset")"; }; then
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
for what in "${broken[@]}"; do echo "test.sh: $what" >&2; done
failed=$((failed + ${#broken[@]}))
closing="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then closing+=", $skipped skipped"; fi
echo "$closing"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
