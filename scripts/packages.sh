#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The one list of Debian 12 packages, and the step that installs the missing ones. Sourced by quickstart.sh and
# test.sh; may also be run: scripts/packages.sh [--no-install] GROUP ...

# shellcheck disable=SC2034  # the lists are read by name
{
packages_build="g++ cmake ninja-build pkg-config libopenmpi-dev libhdf5-dev libboost-program-options-dev libdnnl-dev
  libjpeg62-turbo-dev libpng-dev libhwloc-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev"
packages_run="openmpi-bin"
packages_demo="dataset-fashion-mnist"
packages_test="ccache libboost-context-dev libbenchmark-dev libgtest-dev libgmock-dev python3 python3-h5py python3-numpy python3-pil clang-format clang-tidy
  shellcheck procps xz-utils iproute2 openssh-client openssh-server"
}

services_policy=/usr/sbin/policy-rc.d # asked by invoke-rc.d before it starts a service

# packages_of GROUP ... : the names, one a line.
packages_of() {
  local group list
  for group in "$@"; do
    list="packages_$group"
    if [ -z "${!list:-}" ]; then
      echo "packages.sh: no group '$group' (build, run, demo, test)" >&2
      return 64
    fi
    # shellcheck disable=SC2086  # one word a package
    printf '%s\n' ${!list}
  done
}

# packages_missing GROUP ... : those that are not installed.
packages_missing() {
  local name
  packages_of "$@" | while read -r name; do
    if ! dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed'; then
      echo "$name"
    fi
  done
}

# install_packages yes|no GROUP ... : installs what is missing; with "no", lists it and returns 78.
install_packages() {
  local install=$1 missing as_root=()
  shift
  packages_of "$@" >/dev/null || return
  if ! command -v dpkg-query >/dev/null; then
    if [ "$install" = no ]; then return 0; fi # not Debian: CMake names what it lacks
    echo "this step knows Debian and Ubuntu; install the equivalents and use --no-install:" >&2
    packages_of "$@" | paste -sd ' ' >&2
    return 78
  fi
  mapfile -t missing < <(packages_missing "$@")
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  if [ "$install" = no ]; then
    echo "missing packages: ${missing[*]}" >&2
    echo "install them, or run without --no-install" >&2
    return 78
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "missing packages: ${missing[*]}" >&2
      echo "installing needs root, and there is no sudo: ask an administrator, then use --no-install" >&2
      return 78
    fi
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get -q update && without_services "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y install --no-install-recommends "${missing[@]}" || return
  case " ${missing[*]} " in
    *" openssh-server "*) "${as_root[@]}" update-rc.d ssh disable ;; # tests start their own; nor at the next boot
  esac
}

# without_services COMMAND ... : runs an installation during which no service is started.
without_services() {
  local as_root=() status=0
  if [ -e "$services_policy" ]; then # somebody else decides
    "$@"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$services_policy" || return
  "$@" || status=$?
  "${as_root[@]}" rm -f "$services_policy"
  return "$status"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  install=yes
  if [ "${1:-}" = --no-install ]; then
    install=no
    shift
  fi
  if [ $# -eq 0 ]; then set -- build run demo test; fi
  install_packages "$install" "$@"
fi
