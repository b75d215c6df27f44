#!/usr/bin/env bash
# Builds the operator for the image, as one static binary.
#
#     release/build.sh ARCHITECTURE OUTPUT      for example: release/build.sh arm64 /tmp/baton
#
# The same sources, toolchain, C compiler and C library give the same bytes, in any folder: `release/reproducible.sh` builds twice
# and compares. It builds in `CARGO_TARGET_DIR`, if that is set.
set -euo pipefail

architecture=${1:?which architecture: amd64 or arm64}
output=${2:?where to put the binary}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case $architecture in
    amd64) target=x86_64-unknown-linux-gnu linker=x86_64-linux-gnu-gcc ;;
    arm64) target=aarch64-unknown-linux-gnu linker=aarch64-linux-gnu-gcc ;;
    *)
        printf 'no such architecture: %s; there are amd64 and arm64\n' "$architecture" >&2
        exit 2
        ;;
esac
if [[ $target != "$(rustc --print host-tuple)" ]]; then
    command -v "$linker" >/dev/null || {
        printf '%s is missing: on Debian it is in the package gcc-%s\n' "$linker" "${linker%-gcc}" >&2
        exit 1
    }
    rustup target add "$target"
    # The Rust linker of the target, and the C compiler for ring's assembler.
    name=${target//-/_}
    export "CARGO_TARGET_${name^^}_LINKER=$linker" "CC_$name=$linker"
fi

# crt-static links the C library statically. With an explicit --target, these flags don't apply to build scripts and procedural
# macros, which can't be static. The paths of this machine are replaced, since they would make a different binary on another one.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
flags=(
    -Ctarget-feature=+crt-static
    "--remap-path-prefix=$PWD=/baton"
    "--remap-path-prefix=$cargo_home=/cargo"
)
# A separator that is in no path.
encoded=$(printf '%s\x1f' "${flags[@]}")
CARGO_ENCODED_RUSTFLAGS=${encoded%$'\x1f'} CFLAGS="-ffile-prefix-map=$cargo_home=/cargo" \
    cargo build --profile image --locked --package baton-controller --bin baton --target "$target"

# No scanner sees a C library that is linked statically. So the binary says which one it has, in a section of its own, from which
# release/sbom.sh takes it: glibc's version by the header beside the library, and Debian's package where there is one.
compiler=cc
command -v "$linker" >/dev/null && compiler=$linker
archive=$("$compiler" -print-file-name=libc.a)
library=$(printf '#include <features.h>\nglibc __GLIBC__.__GLIBC_MINOR__\n' | "$compiler" -E -P - | sed --quiet 's/^\(glibc .*\) \. /\1./p')
package=$(dpkg-query --search "$(realpath "$archive")" 2>/dev/null | cut --delimiter=: --fields=1) || package=
if [[ -n $package ]]; then
    library+=" $(dpkg-query --show --showformat='${Package} ${Version}\n' "$package" | head --lines=1)"
fi
objcopy=${compiler%-gcc}-objcopy
command -v "$objcopy" >/dev/null || objcopy=objcopy
section=$(mktemp)
trap 'rm -f -- "$section"' EXIT
printf '%s' "$library" >"$section"
"$objcopy" --add-section ".libc=$section" "${CARGO_TARGET_DIR:-target}/$target/image/baton" "$output"
