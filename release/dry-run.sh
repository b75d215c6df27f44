#!/usr/bin/env bash
# Makes a release without an account: nothing is pushed, signed or published.
#
#     release/dry-run.sh [--quick] VERSION FOLDER      for example: release/dry-run.sh 0.1.0 /tmp/assets
#
# FOLDER gets what a release consists of, and its text in notes.md. Binaries that are there already (baton-linux-amd64,
# baton-linux-arm64) are used as they are. --quick builds no binary, and packages the crates without compiling them. Needs what
# release/*.sh need, but Docker.
set -euo pipefail

quick=
if [[ ${1:-} == --quick ]]; then
    quick=1
    shift
fi
version=${1:?which version}
mkdir --parents -- "${2:?the folder to put everything in}"
output=$(realpath -- "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() {
    local began=$SECONDS
    printf '=== %s\n' "$*" >&2
    "$@"
    printf -- '--- %d s\n' "$((SECONDS - began))" >&2
}
# Leftovers of an earlier run would get into SHA256SUMS.
find "$output" -mindepth 1 -maxdepth 1 ! -name 'baton-linux-amd64' ! -name 'baton-linux-arm64' -delete
step release/check.sh "$version"
step release/lint.sh
for architecture in amd64 arm64; do
    if [[ -z $quick && ! -e $output/baton-linux-$architecture ]]; then
        step release/build.sh "$architecture" "$output/baton-linux-$architecture"
    fi
done
if [[ -z $quick ]]; then
    # Linking for macOS needs Apple's SDK.
    step release/plugin.sh "$output" {linux,windows}-{amd64,arm64}
    step release/krew.sh "$version" "https://registry.invalid/$version" "$output"
fi
for architecture in amd64 arm64; do
    binary=$output/baton-linux-$architecture
    [[ -e $binary ]] || binary=
    step release/sbom.sh "$output/baton-linux-$architecture.cdx.json" "$architecture" ${binary:+"$binary"}
done
# A registry in a domain that can't exist: there is no image that this file could install.
step release/assets.sh "$version" "registry.invalid/baton:$version" "$output"
(cd "$output" && step sha256sum --check --strict SHA256SUMS)
release/notes.sh "$version" >"$output/notes.md"
step release/crates.sh --dry-run ${quick:+--no-verify}
ls -l "$output"
