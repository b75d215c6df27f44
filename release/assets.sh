#!/usr/bin/env bash
# Adds to a folder with the binaries what else a release has: their SBOMs, the chart, install.yaml, the CRD, and SHA256SUMS of all.
#
#     release/assets.sh VERSION IMAGE FOLDER      for example: release/assets.sh 0.1.0 registry.example/baton@sha256:… /tmp/assets
#
# Needs Rust, Go and kubectl.
set -euo pipefail

version=${1:?which version}
image=${2:?which image, with its digest or its tag}
output=$(realpath -- "${3:?the folder with the binaries}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for architecture in amd64 arm64; do
    release/sbom.sh "$output/baton-linux-$architecture.cdx.json" "$architecture"
done
repository=${image%@*}
# A colon before the last slash belongs to a registry's port.
[[ ${repository##*/} != *:* ]] || repository=${repository%:*}
release/chart.sh "$version" "$repository" "$output"
release/install-yaml.sh "$image" "$output/install.yaml"
cp manifests/crd/workloads.baton.rs.yaml "$output"
cd "$output"
rm -f SHA256SUMS
sha256sum -- * >SHA256SUMS
