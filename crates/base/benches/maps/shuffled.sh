#!/usr/bin/env bash
# The benchmark over programs whose functions the linker has put in other orders: what is left is what the maps do.
set -euo pipefail
cd "$(dirname "$0")/../../../.."

layouts="$(realpath "${CARGO_TARGET_DIR:-target}")/layouts"
rm -rf "$layouts"
mkdir -p "$layouts"
for seed in {1..12}; do
    cargo rustc --quiet --locked --profile bench -p stackwright-base --bench maps --message-format=json -- \
        -C "link-arg=-Wl,--shuffle-sections=.text*=$seed" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' |
        xargs -I{} cp {} "$layouts/$seed"
done
STACKWRIGHT_MAPS_LAYOUTS="$layouts" cargo bench --quiet --locked -p stackwright-base --bench maps -- "$@"
