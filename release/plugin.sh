#!/usr/bin/env bash
# Builds the plugin `kubectl baton` for one platform, or for all, and packs it as krew installs it.
#
#     release/plugin.sh FOLDER [PLATFORM…]      for example: release/plugin.sh /tmp/assets darwin-arm64
#
# Platforms are linux, darwin and windows, each -amd64 or -arm64. FOLDER gets an archive for each, with the manual pages and the
# completion of kubectl. One compiler builds for all of them: needs cargo-zigbuild and zig, which
# `pip install --require-hashes --requirement release/zig-requirements.txt` brings. To link for macOS it needs Apple's SDK as
# well, where macOS has it or SDKROOT says.
set -euo pipefail

mkdir -p "${1:?the folder to put the archives in}"
output=$(realpath "$1")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
platforms=("$@")
((${#platforms[@]})) || platforms=({linux,darwin,windows}-{amd64,arm64})

command -v cargo-zigbuild >/dev/null || {
    printf 'cargo-zigbuild is missing: pip install --require-hashes --requirement release/zig-requirements.txt\n' >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

target_of() {
    case $1 in
        linux-amd64) printf 'x86_64-unknown-linux-musl' ;;
        linux-arm64) printf 'aarch64-unknown-linux-musl' ;;
        darwin-amd64) printf 'x86_64-apple-darwin' ;;
        darwin-arm64) printf 'aarch64-apple-darwin' ;;
        windows-amd64) printf 'x86_64-pc-windows-gnu' ;;
        windows-arm64) printf 'aarch64-pc-windows-gnullvm' ;;
        *)
            printf 'no such platform: %s\n' "$1" >&2
            exit 2
            ;;
    esac
}

mkdir "$work/manual"
cargo run --quiet --locked --package kubectl-baton -- manual "$work/manual"
for platform in "${platforms[@]}"; do
    target=$(target_of "$platform")
    binary=kubectl-baton
    [[ $platform != windows-* ]] || binary=kubectl-baton.exe
    rustup target add "$target"
    cargo zigbuild --locked --profile image --package kubectl-baton --target "$target"
    folder=$work/$platform
    mkdir -p "$folder/man"
    cp "${CARGO_TARGET_DIR:-target}/$target/image/$binary" LICENSE plugin/kubectl_complete-baton "$folder"
    cp "$work"/manual/*.1 "$folder/man"
    tar -C "$folder" -czf "$output/kubectl-baton-$platform.tar.gz" .
done
