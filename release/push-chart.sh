#!/usr/bin/env bash
# Pushes a packaged chart to an OCI registry, and prints the digest that it has there.
#
#     release/push-chart.sh PACKAGE REGISTRY [FLAGS OF HELM]
#     release/push-chart.sh baton-0.1.0.tgz registry.example/charts      for example
#
# Log in before, with `docker login` or `helm registry login`. Helm is the tests' own, built as they build it.
set -euo pipefail

package=$(realpath -- "${1:?the packaged chart}")
registry=${2:?the registry, without oci://}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

output=$(CGO_ENABLED=0 GOFLAGS=-trimpath go -C e2e/helm tool helm push "$package" "oci://$registry" "${@:3}" 2>&1) || {
    printf '%s\n' "$output" >&2
    exit 1
}
printf '%s\n' "$output" >&2
grep --only-matching --extended-regexp 'sha256:[0-9a-f]{64}' <<<"$output" || {
    printf 'Helm printed no digest\n' >&2
    exit 1
}
