#!/usr/bin/env bash
# Writes the manifest by which krew installs the plugin, from its archives.
#
#     release/krew.sh VERSION URL FOLDER      for example: release/krew.sh 0.1.0 https://example.com/v0.1.0 /tmp/assets
#
# URL is where the archives in FOLDER will be. FOLDER gets baton.yaml, with the platforms that have an archive.
set -euo pipefail

version=${1:?which version}
url=${2:?where the archives will be}
output=$(realpath -- "${3:?the folder with the archives}")
manifest=$output/baton.yaml

cat >"$manifest" <<YAML
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: baton
spec:
  version: v$version
  homepage: $url
  shortDescription: Who owns a field, and what an apply would do
  description: |
    Answers what people ask when server-side apply says no: who owns this
    field, what would my apply do, and how do I pass a field on without
    losing its value. Predicts writes from the schemas of the cluster.
    Works on any cluster, with any operator or none.
  platforms:
YAML
for platform in {linux,darwin,windows}-{amd64,arm64}; do
    archive=kubectl-baton-$platform.tar.gz
    [[ -e $output/$archive ]] || continue
    binary=kubectl-baton
    [[ $platform != windows-* ]] || binary=kubectl-baton.exe
    sum=$(sha256sum -- "$output/$archive")
    cat >>"$manifest" <<YAML
  - selector:
      matchLabels:
        os: ${platform%-*}
        arch: ${platform#*-}
    uri: $url/$archive
    sha256: ${sum%% *}
    bin: $binary
YAML
done
