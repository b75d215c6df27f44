#!/usr/bin/env bash
# Copies the binaries out of the image, for amd64 and arm64.
#
#     release/binaries.sh IMAGE FOLDER      for example: release/binaries.sh registry.example/baton@sha256:… /tmp/assets
#
# By its digest, the image is what was built and signed, whatever happened since. Needs Docker; log in to the registry before.
set -euo pipefail

image=${1:?which image, with its digest}
output=${2:?the folder to put the binaries in}
for architecture in amd64 arm64; do
    container=$(docker create --platform "linux/$architecture" --pull always --quiet "$image")
    docker cp --quiet "$container:/baton" "$output/baton-linux-$architecture"
    docker rm "$container" >/dev/null
done
