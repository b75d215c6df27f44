#!/usr/bin/env bash
# Packages the crates that are published, compiles each from its package, and publishes them in the order of their dependencies.
#
#     release/crates.sh [FLAGS OF CARGO PUBLISH]
#     release/crates.sh --dry-run       all but the upload
#     release/crates.sh --no-verify     all but the compilation; needs a token of the registry in CARGO_REGISTRY_TOKEN
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo publish --package baton-merge --package baton-openapi --package baton-apply --package baton-apiserver --package baton-runtime --locked "$@"
