#!/usr/bin/env bash
# Writes the SBOM of the operator's binary, a CycloneDX 1.5 document: what is linked into it. These are crates, from Cargo.lock; Rust's
# standard library, from rust-toolchain.toml; and the C library, from the binary itself.
#
#     release/sbom.sh OUTPUT [ARCHITECTURE [BINARY]]      for example: release/sbom.sh baton.cdx.json arm64 baton-linux-arm64
#
# Without BINARY, the document lacks the C library. Needs jq and readelf.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output=${1:?where to put the document}
binary=${3:-}
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
trap 'find . -name "$name.json" -not -path "./target/*" -delete' EXIT
"$root/bin/cargo-cyclonedx" cyclonedx --manifest-path controller/Cargo.toml --format json --spec-version 1.5 \
    --target "$target" --no-build-deps --override-filename "$name"
rust=$(sed --quiet 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
# Such as `glibc 2.41 libc6-dev 2.41-12`.
libc=() distribution=
if [[ -n $binary ]]; then
    read -ra libc <<<"$(readelf --string-dump=.libc "$binary" | sed --quiet 's/^ *\[ *0\] *//p')"
    if ((${#libc[@]} < 2)); then
        printf '%s has no section .libc: it is not from release/build.sh\n' "$binary" >&2
        exit 1
    fi
    # A cross compiler's library has the version of its own package.
    ((${#libc[@]} < 4)) || distribution="pkg:deb/debian/${libc[2]}@${libc[3]//+/%2B}"
fi
# The document doesn't contain the path of the checkout.
sed "s#file://$PWD#file:///baton#g" "controller/$name.json" |
    jq --arg rust "$rust" --arg glibc "${libc[1]:-}" --arg package "$distribution" '.components += ([
        {type: "library", name: "rust-std", version: $rust, "bom-ref": "rust-std", purl: "pkg:generic/rust@\($rust)",
            cpe: "cpe:2.3:a:rust-lang:rust:\($rust):*:*:*:*:*:*:*"},
        if $glibc == "" then empty else
            {type: "library", name: "glibc", version: $glibc, "bom-ref": "glibc",
                purl: (if $package == "" then "pkg:generic/glibc@\($glibc)" else $package end),
                cpe: "cpe:2.3:a:gnu:glibc:\($glibc):*:*:*:*:*:*:*"}
        end
    ])' >"$output"
