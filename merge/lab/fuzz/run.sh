#!/usr/bin/env bash
# Runs every fuzz target for a while, one after the other: merge/lab/fuzz/run.sh [SECONDS [ROUNDS [TARGET…]]]
# Ends with status 1 if an input failed; which one is said, and the other targets are still run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

seconds=${1:-60}
rounds=${2:-1}
targets=("${@:3}")
if ((${#targets[@]} == 0)); then
    mapfile -t targets < <(ls fuzz_targets | sed 's/\.rs$//')
fi

# Stable Rust with the nightly flags that coverage needs. No sanitizer: the code under test has no `unsafe`, and without
# one it runs several times faster. Debug assertions and overflow checks are on, as always with cargo-fuzz.
RUSTC_BOOTSTRAP=1 cargo fuzz build --sanitizer none
binaries=${CARGO_TARGET_DIR:-../../../target}/$(rustc -vV | sed -n 's/^host: //p')/release

failed=0
for ((round = 1; round <= rounds; round++)); do
    for target in "${targets[@]}"; do
        mkdir -p "corpus/$target" "artifacts/$target"
        log=artifacts/$target.log
        status=0
        dictionary=()
        [[ ! -f $target.dict ]] || dictionary=(-dict="$target.dict")
        # Whole paths: the driver's targets go to the workspace's folder.
        "$binaries/$target" "$PWD/corpus/$target" "$PWD/seeds/$target" -max_total_time="$seconds" -max_len=16384 -timeout=20 \
            "${dictionary[@]}" -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$PWD/artifacts/$target/" >"$log" 2>&1 || status=$?
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
        coverage=$(grep --only-matching 'cov: [0-9]* ft: [0-9]*' "$log" | tail -1 || true)
        printf '%s round %d %-15s %9s runs %7s/s  %s\n' \
            "$(date +%T)" "$round" "$target" "${runs:-?}" "${rate:-?}" "$coverage"
        if ((status != 0)); then
            failed=1
            grep --max-count=1 'Test unit written to' "$log" || tail -3 "$log"
            cp "$log" "artifacts/$target.failed.$(date +%s).log"
        fi
    done
done
exit $failed
