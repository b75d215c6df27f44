#!/usr/bin/env bash
# Builds the image for amd64 and arm64, pushes it, and copies its binaries out.
#
#     release/image.sh VERSION REPOSITORY FOLDER      for example: release/image.sh 0.1.0 registry.example/baton /tmp/assets
#
# Writes FOLDER/baton-linux-amd64 and FOLDER/baton-linux-arm64. Prints `digest=sha256:…`, and for each architecture
# `amd64=sha256:…`, the digest of its own manifest. Needs Docker with buildx and jq; log in to the registry before.
set -euo pipefail

version=${1:?which version}
repository=${2:?the name of the image, without a tag}
output=$(realpath -- "${3:?the folder to put the binaries in}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp --directory)
# The default builder can't build for two architectures.
builder=$(docker buildx create)
trap 'docker buildx rm "$builder" >&2; rm -rf -- "$folder"' EXIT
build() {
    docker buildx build --builder "$builder" --platform linux/amd64,linux/arm64 \
        --build-arg "VERSION=$version" --build-arg "REVISION=$(git rev-parse HEAD)" "$@" . >&2
}
build --provenance mode=max --tag "$repository:$version" --metadata-file "$folder/metadata.json" --push
# From the builder's cache: these are the binaries of the image, bit for bit.
build --provenance false --output "type=local,dest=$folder"
digest=$(jq --raw-output '."containerimage.digest"' "$folder/metadata.json")
printf 'digest=%s\n' "$digest"
for architecture in amd64 arm64; do
    cp "$folder/linux_$architecture/baton" "$output/baton-linux-$architecture"
    docker buildx imagetools inspect --raw "$repository@$digest" |
        jq --raw-output --exit-status --arg architecture "$architecture" \
            '.manifests[] | select(.platform.architecture == $architecture) | "\($architecture)=\(.digest)"'
done
