#!/usr/bin/env bash
# Prints the section of a version in CHANGELOG.md, without its heading. It fails if there is none, or nothing in it.
#
#     release/notes.sh VERSION
set -euo pipefail
version=${1:?which version}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

awk -v "heading=## [$version]" '
    /^## / { inside = index($0, heading) == 1; next }
    # Empty lines count only between two others.
    inside && /^$/ { empty = found; next }
    inside { if (empty) print ""; print; empty = 0; found = 1 }
    END { exit !found }
' CHANGELOG.md || {
    printf 'CHANGELOG.md has no section for %s\n' "$version" >&2
    exit 1
}
