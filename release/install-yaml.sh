#!/usr/bin/env bash
# Writes all that `kubectl apply --server-side -k manifests` installs into one file, with the image that you name.
#
#     release/install-yaml.sh IMAGE OUTPUT      for example: release/install-yaml.sh registry.example/baton@sha256:… install.yaml
#
# IMAGE has a digest or a tag. Needs kubectl.
set -euo pipefail

image=${1:?which image, with its digest or its tag}
output=$(realpath -- "${2:?where to put the file}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case $image in
    *@sha256:*) name=${image%@*} chosen="digest: ${image##*@}" ;;
    # A colon before the last slash belongs to a registry's port.
    *:*) name=${image%:*} chosen="newTag: \"${image##*:}\"" ;;
esac
if [[ -z ${name:-} || ${image##*/} != *:* ]]; then
    printf '%s has neither a digest nor a tag\n' "$image" >&2
    exit 2
fi

folder=$(mktemp --directory)
trap 'rm -rf -- "$folder"' EXIT
# kustomize takes no absolute path.
cat >"$folder/kustomization.yaml" <<KUSTOMIZATION
resources: ["$(realpath --relative-to "$folder" manifests)"]
images: [{name: registry.invalid/baton, newName: "$name", $chosen}]
KUSTOMIZATION
kubectl kustomize "$folder" >"$folder/install.yaml"
grep --quiet --fixed-strings --line-regexp "        image: $image" "$folder/install.yaml" || {
    printf 'kustomize did not set the image to %s\n' "$image" >&2
    exit 1
}
cp "$folder/install.yaml" "$output"
