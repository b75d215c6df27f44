#!/usr/bin/env bash
# Checks the scripts with shellcheck, and the workflows with actionlint, which checks their commands with shellcheck too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

actionlint=v1.7.12
# SC2164 is about a `cd` that fails, without `set -e`, as in .ci/nightly.
shellcheck --severity warning --exclude SC2164 release/*.sh .ci/*
go run "github.com/rhysd/actionlint/cmd/actionlint@$actionlint"
