#!/usr/bin/env bash
# Adds to a folder with the binaries, their SBOMs and the plugin's archives what else a release has: the chart, install.yaml, the CRD,
# and SHA256SUMS of all. Runs no build script of a dependency.
#
#     release/assets.sh VERSION IMAGE FOLDER      for example: release/assets.sh 0.1.0 registry.example/baton@sha256:… /tmp/assets
#
# Needs Go and kubectl.
set -euo pipefail

version=${1:?which version}
image=${2:?which image, with its digest or its tag}
output=$(realpath -- "${3:?the folder with the binaries}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

repository=${image%@*}
# A colon before the last slash belongs to a registry's port.
[[ ${repository##*/} != *:* ]] || repository=${repository%:*}
release/chart.sh "$version" "$repository" "$output"
release/install-yaml.sh "$image" "$output/install.yaml"
cp manifests/crd/workloads.baton.rs.yaml "$output"
cd "$output"
rm -f SHA256SUMS
sha256sum -- * >SHA256SUMS
