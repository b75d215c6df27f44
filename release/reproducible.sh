#!/usr/bin/env bash
# Builds the operator's binary twice and compares the two byte for byte. The builds are of the last commit, in folders of different
# names, and share only the downloaded crates.
#
#     release/reproducible.sh [ARCHITECTURE]      the default is amd64
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

architecture=${1:-amd64}
folder=$(mktemp --directory)
trap 'rm -rf -- "$folder"' EXIT

for copy in first "the second, elsewhere"; do
    mkdir "$folder/$copy"
    git archive HEAD | tar --extract --directory "$folder/$copy"
    CARGO_TARGET_DIR="$folder/$copy/target" "$folder/$copy/release/build.sh" "$architecture" "$folder/$copy/baton"
    sha256sum "$folder/$copy/baton" | cut --delimiter=' ' --fields=1 | tee "$folder/$copy/sum"
done
if ! cmp "$folder/first/baton" "$folder/the second, elsewhere/baton"; then
    printf 'the two builds differ\n' >&2
    exit 1
fi
printf 'the two builds are the same, %d bytes\n' "$(stat --format=%s "$folder/first/baton")"
