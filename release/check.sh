#!/usr/bin/env bash
# Checks that each file which names the version has this one, and that the builder of the image is the toolchain of the repository.
#
#     release/check.sh VERSION [--dated]
#
# With --dated, CHANGELOG.md must also have the date of the release, as YYYY-MM-DD.
set -euo pipefail
version=${1:?which version}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
# The line has to be in the file as it is.
has() {
    grep --quiet --fixed-strings --line-regexp -- "$2" "$1" || {
        printf '%s lacks the line: %s\n' "$1" "$2" >&2
        status=1
    }
}
has Cargo.toml "version = \"$version\""
for crate in merge openapi apply apiserver runtime; do
    has Cargo.toml "baton-$crate = { path = \"$crate\", version = \"$version\" }"
done
has Dockerfile "ARG VERSION=$version"
has charts/baton/Chart.yaml "version: $version"
has charts/baton/Chart.yaml "appVersion: $version"
has manifests/deploy/deployment.yaml "          image: registry.invalid/baton:$version"

toolchain=$(sed --quiet 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
grep --quiet --extended-regexp "^ARG RUST_IMAGE=rust:${toolchain//./\\.}@sha256:[0-9a-f]{64}\$" Dockerfile || {
    printf 'Dockerfile lacks the digest of rust:%s, which rust-toolchain.toml names\n' "$toolchain" >&2
    status=1
}
if [[ ${2:-} == --dated ]]; then
    grep --quiet --extended-regexp "^## \[${version//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md || {
        printf 'CHANGELOG.md has no date for %s\n' "$version" >&2
        status=1
    }
fi
exit "$status"
