#!/usr/bin/env bash
# Packages the Helm chart, with the image's name as the default of `image.repository`. The tag's default is the chart's appVersion.
#
#     release/chart.sh VERSION REPOSITORY FOLDER      for example: release/chart.sh 0.1.0 registry.example/baton /tmp
#
# Writes FOLDER/baton-VERSION.tgz. Helm is the tests' own, built as they build it.
set -euo pipefail

version=${1:?which version}
repository=${2:?the name of the image, without a tag}
output=$(realpath -- "${3:?the folder to put the package in}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp --directory)
trap 'rm -rf -- "$folder"' EXIT
cp --recursive charts/baton "$folder"
sed --in-place "s#^  repository: registry.invalid/baton\$#  repository: $repository#" "$folder/baton/values.yaml"
sed --in-place "s#^| \`image.repository\` | \`registry.invalid/baton\` |#| \`image.repository\` | \`$repository\` |#" "$folder/baton/README.md"
for file in values.yaml README.md; do
    grep --quiet --fixed-strings -- "$repository" "$folder/baton/$file" || {
        printf 'charts/baton/%s has no image.repository to replace\n' "$file" >&2
        exit 1
    }
done
CGO_ENABLED=0 GOFLAGS=-trimpath go -C e2e/helm tool helm package "$folder/baton" \
    --version "$version" --app-version "$version" --destination "$output"
