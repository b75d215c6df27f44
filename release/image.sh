#!/usr/bin/env bash
# Builds the image for amd64 and arm64, pushes it, and copies its binaries out of what the registry has.
#
#     release/image.sh VERSION REPOSITORY FOLDER      for example: release/image.sh 0.1.0 registry.example/baton /tmp/assets
#
# Writes FOLDER/baton-linux-amd64 and FOLDER/baton-linux-arm64. Prints `digest=sha256:…`, and for each architecture
# `amd64=sha256:…`, the digest of its own manifest. Needs Docker with buildx and jq; log in to the registry before.
#
# A published image never changes. If the registry has this version already, from an earlier run for the same commit, that image is
# used as it is. One of another commit is an error.
set -euo pipefail

version=${1:?which version}
repository=${2:?the name of the image, without a tag}
output=$(realpath -- "${3:?the folder to put the binaries in}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

revision=$(git rev-parse HEAD)
folder=$(mktemp --directory)
trap 'rm -rf -- "$folder"' EXIT

# The value of this template for the image of this version, once for each architecture. Fails if the registry has no such image, or
# can't tell.
published() {
    docker buildx imagetools inspect "$repository:$version" --format "$1"
}
if digest=$(published '{{.Manifest.Digest}}' 2>"$folder/error"); then
    found=$(published '{{range .Image}}{{index .Config.Labels "org.opencontainers.image.revision"}}{{println}}{{end}}' | sort --unique | xargs)
    if [[ $found != "$revision" ]]; then
        printf '%s:%s was published already, from the commit %s: release the next version\n' "$repository" "$version" "$found" >&2
        exit 1
    fi
    printf '%s:%s was published already, from this commit\n' "$repository" "$version" >&2
elif grep --quiet --ignore-case 'not found' "$folder/error"; then
    # The default builder can't build for two architectures.
    builder=$(docker buildx create)
    trap 'docker buildx rm "$builder" >&2; rm -rf -- "$folder"' EXIT
    # The times in the image are the commit's, so that the same commit gives the same layers.
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) docker buildx build --builder "$builder" --platform linux/amd64,linux/arm64 \
        --build-arg "VERSION=$version" --build-arg "REVISION=$revision" --provenance mode=max --metadata-file "$folder/metadata.json" \
        --output "type=image,\"name=$repository:$version\",push=true,rewrite-timestamp=true" . >&2
    digest=$(jq --raw-output '."containerimage.digest"' "$folder/metadata.json")
else
    cat "$folder/error" >&2
    exit 1
fi
release/binaries.sh "$repository@$digest" "$output"
printf 'digest=%s\n' "$digest"
for architecture in amd64 arm64; do
    docker buildx imagetools inspect --raw "$repository@$digest" |
        jq --raw-output --exit-status --arg architecture "$architecture" \
            '.manifests[] | select(.platform.architecture == $architecture) | "\($architecture)=\(.digest)"'
done
