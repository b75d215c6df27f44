#!/usr/bin/env bash
# Pushes a packaged chart to an OCI registry, and prints the digest that it has there.
#
#     release/push-chart.sh PACKAGE REGISTRY [FLAGS OF HELM]
#     release/push-chart.sh baton-0.1.0.tgz registry.example/charts      for example
#
# A published chart never changes. If the registry has this version already, with the same content, nothing is pushed; with another
# content, it is an error. Log in before, with `docker login` or `helm registry login`. Helm is the tests' own, built as they build it.
set -euo pipefail

package=$(realpath -- "${1:?the packaged chart}")
registry=${2:?the registry, without oci://}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp --directory)
trap 'rm -rf -- "$folder"' EXIT
helm() {
    CGO_ENABLED=0 GOFLAGS=-trimpath go -C e2e/helm tool helm "$@" 2>&1
}
mkdir "$folder/new" "$folder/published"
tar --extract --file "$package" --directory "$folder/new"
value() {
    sed --quiet "s/^$1: //p" "$folder"/new/*/Chart.yaml
}
name=$(value name) version=$(value version)
if output=$(helm pull "oci://$registry/$name" --version "$version" --destination "$folder" "${@:3}"); then
    tar --extract --file "$folder/$name-$version.tgz" --directory "$folder/published"
    diff --recursive "$folder/published" "$folder/new" >&2 || {
        printf '%s/%s:%s was published already, and differs: release the next version\n' "$registry" "$name" "$version" >&2
        exit 1
    }
elif ! grep --quiet --ignore-case 'not found' <<<"$output" || ! output=$(helm push "$package" "oci://$registry" "${@:3}"); then
    printf '%s\n' "$output" >&2
    exit 1
fi
printf '%s\n' "$output" >&2
grep --only-matching --extended-regexp 'sha256:[0-9a-f]{64}' <<<"$output" || {
    printf 'Helm printed no digest\n' >&2
    exit 1
}
