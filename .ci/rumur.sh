#!/usr/bin/env bash
# The second opinion on the model of a run: Rumur explores what proof/explore generates from the contract, and must find nothing, in as many states
# as our own explorer counts. Arguments are bounds, as modelcheck takes them; without any, they are such that it takes half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
bounds=("$@")
[ $# -gt 0 ] || bounds=(-questions 1 -attempts 2)

ready() { command -v rumur >/dev/null && command -v cc >/dev/null; }
if ! ready && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo 'installing Rumur' >&2
	log=$(mktemp)
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install rumur gcc libc6-dev; } >"$log" 2>&1 </dev/null || tail -n 3 "$log" >&2
	rm -f "$log"
fi
ready || { echo "rumur or a C compiler is missing: install them (Debian, Ubuntu: apt-get install -y rumur gcc libc6-dev)" >&2; exit 1; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/modelcheck" ./proof/explore/modelcheck
"$dir/modelcheck" "${bounds[@]}" -murphi "$dir/model.murphi"
rumur --symmetry-reduction off --deadlock-detection off --output "$dir/model.c" "$dir/model.murphi"
cas=
[ "$(uname -m)" != x86_64 ] || cas=-mcx16
cc -std=c11 -O3 -w $cas -o "$dir/model" "$dir/model.c" -lpthread -latomic 2>/dev/null || cc -std=c11 -O3 -w $cas -o "$dir/model" "$dir/model.c" -lpthread
"$dir/model" >"$dir/theirs" || { cat "$dir/theirs"; echo "Rumur found something" >&2; exit 1; }
"$dir/modelcheck" "${bounds[@]}" -bare | tee "$dir/ours"

# states N: the first "N states" that comes last in a file.
states() { grep -o '[0-9]* states, [0-9]* [tr]' "$1" | tail -n 1 | cut -d' ' -f1; }
theirs=$(states "$dir/theirs")
ours=$(states "$dir/ours")
echo "Rumur: $theirs states; proof/explore: $ours states"
[ -n "$theirs" ] && [ "$theirs" = "$ours" ] || { echo "the two models differ" >&2; exit 1; }
