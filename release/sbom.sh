#!/usr/bin/env bash
# Writes the SBOM of the operator's binary, a CycloneDX 1.5 document: the crates that are linked into it, from Cargo.lock.
#
#     release/sbom.sh OUTPUT [ARCHITECTURE]      for example: release/sbom.sh baton.cdx.json arm64
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output=${1:?where to put the document}
case ${2:-amd64} in
    amd64) target=x86_64-unknown-linux-gnu ;;
    arm64) target=aarch64-unknown-linux-gnu ;;
    *)
        printf 'no such architecture: %s; there are amd64 and arm64\n' "$2" >&2
        exit 2
        ;;
esac
version=0.5.9
root="${BATON_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/baton}/tools/cargo-cyclonedx-$version"
if [[ ! -x $root/bin/cargo-cyclonedx ]]; then
    cargo install cargo-cyclonedx --debug --locked --version "$version" --root "$root"
fi
# The tool writes a document beside each manifest. Only the operator's is kept.
name=baton.sbom
"$root/bin/cargo-cyclonedx" cyclonedx --manifest-path controller/Cargo.toml --format json --spec-version 1.5 \
    --target "$target" --no-build-deps --override-filename "$name"
# The document doesn't contain the path of the checkout.
sed "s#file://$PWD#file:///baton#g" "controller/$name.json" >"$output"
find . -name "$name.json" -not -path './target/*' -delete
