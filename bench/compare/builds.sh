#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# builds.sh ONE-FILE DEVICE [TURNS]: a checkout with its fio, and the one file with its own, read one device in turns
# (A B, B A, ...); each pair's ratio of whole maps, and their mean with its interval.
#
#   ioatlas lab run drive -- bench/compare/builds.sh dist/ioatlas-*-linux-x86_64 {}
set -euo pipefail
one=$(realpath "$1") device=$2 turns=${3:-4}
checkout=$(realpath "$(dirname "$0")/../../.venv/bin/ioatlas")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '%s\n' "visits = ${VISITS:-12}" 'window = "0.6s"' '[sweep]' 'rw = ["read", "randread"]' 'bs = ["4k", "256k"]' \
    'iodepth = 8' 'size = "128m"' > c.toml
# The one file takes its own fio where PATH has none.
mkdir without
ln -s /usr/bin/* without
rm -f without/fio*
map() { ioatlas=$1; shift; "$ioatlas" map "$device" --campaign c.toml --read-only --yes -q "$@" >/dev/null; }
for turn in $(seq "$turns"); do
    ((turn % 2)) && order="A B" || order="B A"
    for side in $order; do
        if [[ $side == A ]]; then map "$checkout" -o "A$turn"
        else PATH=$work/without XDG_CACHE_HOME=$work/cache map "$one" -o "B$turn"; fi
    done
    "$checkout" compare "A$turn" "B$turn" --json > "$turn.json" || [[ $? == 3 ]]
done
"$(dirname "$checkout")/python" - ./*.json <<'PYTHON'
import json, math, statistics, sys
from scipy.special import stdtrit
pairs = [json.load(open(name))["pairs"][0]["map"]["ratio"] for name in sys.argv[1:]]
print(*(f"{ratio - 1:+.1%}" for ratio in pairs))
logs, n = [math.log(ratio) for ratio in pairs], len(pairs)
error = statistics.stdev(logs) / math.sqrt(n)
mean, half = statistics.mean(logs), float(stdtrit(n - 1, 0.975)) * error
print(f"{math.expm1(mean):+.1%} ({math.expm1(mean - half):+.1%} to {math.expm1(mean + half):+.1%}); 8 of 10 times it finds "
      f"{math.expm1(half + float(stdtrit(n - 1, 0.8)) * error):.1%}")
PYTHON
