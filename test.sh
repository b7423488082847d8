#!/usr/bin/env bash
# All tests of all modules, with the race detector. Arguments go to go test: ./test.sh -run TestX
# Seeds and counts are fixed. The long searches have the build tag search: see .ci/search.
set -euo pipefail
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "test.sh: go is missing: install Go 1.25 or newer" >&2; exit 1; }
command -v "$(go env CC)" >/dev/null || { echo "test.sh: $(go env CC) is missing: the race detector needs a C compiler" >&2; exit 1; }
.ci/postgres.sh
# Property tests use a fixed seed.
export RAPID_SEED=${RAPID_SEED:-1}
# These packages start no goroutine (internal/arch checks that): the race detector would find nothing, and take up to
# ten times as long.
sequential=(./cmd/internal/command ./cmd/internal/terminal ./contract/check ./host/render ./host/web/internal/page/gen
	./interaction ./internal/arch ./internal/docs ./internal/plainjson ./internal/reqmap ./lifecycle/internal/decide
	./proof/licences ./proof/systems ./slots ./store/internal/entry)
# interlude-bench measures what other tests check with the detector.
measuring=(./cmd/interlude-bench)
# The code of these packages runs with the detector in tests of others, such as ./lifecycle and ./host/web; their own
# tests have the detector in .ci/search.
elsewhere=(./contract ./contract/audit ./contract/explain ./contract/fcmp ./contract/gen ./internal/schema ./proof/page)
skip=()
[[ " $* " == *" -run"* ]] || skip=(-skip '^TestStories$')
. .ci/race.sh
# Each program with the race detector, a child process too, sleeps for a second before it exits, unless told otherwise.
export GORACE="atexit_sleep_ms=20 ${GORACE:-}"

# Only the race detector needs cgo. Without it, and the programs that tests build, are compiled as in a release.
export CGO_ENABLED=0
race+=(-exec "env CGO_ENABLED=0")

# Programs that nobody debugs are linked without the tables for it; races and panics are shown as before.
small="-ldflags=-s -w"

# unwatched tests without the race detector: the packages above, and long tests with a single goroutine or with
# concurrency that other tests check. There they run in full; with the detector, in a shorter form or not at all. On
# SQLite and PostgreSQL the full form is shortened (-short): in full it is part of .ci/search. With the detector, stories
# and requirements run on memory only.
unwatched() {
	go test "$small" -timeout 20m "$@" ./contract/... ./proof/explore/... ./proof/simulate ./internal/schema "${sequential[@]}" "${measuring[@]}"
	[[ " $* " != *" -run"* ]] || return 0
	go test "$small" -timeout 20m "$@" -run '^TestRequirements$|^TestRequirementsOnMemory$/G3|^TestStories$|TestMemory|TestNothingIsLost|TestEveryCall|TestAChangedByte|TestN3EveryForm' \
		./lifecycle ./proof/crash ./proof/disk ./cmd/internal/console
	go test "$small" -timeout 20m "$@" -short -run '^TestRequirements$|^TestStories$|TestStorePassesTheSuite/machine' \
		./store/sqlite ./store/postgres
}

# page tests the page in a browser. In full its tests are a part of .ci/search.
page() { go test "$small" -timeout 20m -short "$@" ./proof/page; }

# outside tests engine/adk, which needs a newer Go than the others and is not in the workspace. What both import is
# compiled once: flags and versions are the same.
outside() {
	if (cd engine/adk && GOWORK=off go list -m) >/dev/null 2>&1; then
		(cd engine/adk && GOWORK=off CGO_ENABLED=1 go test "${race[@]}" "$small" -timeout 10m "$@" ./...)
	elif [ "${CI:-}" = true ]; then
		echo "test.sh: engine/adk needs $(sed -n 's/^go /Go /p' engine/adk/go.mod) or newer" >&2
		return 1
	else
		echo "test.sh: the tests of engine/adk are not run: it needs $(sed -n 's/^go /Go /p' engine/adk/go.mod) or newer"
	fi
}

# The slowest packages run first, so that none runs alone at the end. The others run in the reverse order of the
# workspace.
modules=()
while read -r module; do modules=("$module/..." ${modules[@]+"${modules[@]}"}); done < <(go work edit -json | sed -n 's/.*"DiskPath": "\(.*\)".*/\1/p')
packages=(./store/postgres/... ./engine/acp/... ./cmd/interlude ./lifecycle ./engine/agents/...)
tested=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' "${modules[@]}") # its failure ends the script, unlike below
while read -r folder; do packages+=("$folder"); done < <(sed "s|^$PWD|.|" <<<"$tested" | grep -vxFf <(printf '%s\n' "${sequential[@]}" "${measuring[@]}" "${elsewhere[@]}"))
# With PgBouncer, PostgreSQL is also reached through it.
tags=()
if command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]; then tags=(-tags pgbouncer); fi
# Many tests wait for other processes and for disks: two packages more than there are processors keep these busy, and
# so do the tests without the detector, which run at the same time. Their output comes at the end.
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
set -m # each has a process group, to which signals are passed on
page "$@" >"$output/page" 2>&1 &
page=$!
(unwatched "$@"; outside "$@") >"$output/unwatched" 2>&1 &
unwatched=$!
CGO_ENABLED=1 go test -p $(($(getconf _NPROCESSORS_ONLN) + 2)) "${race[@]}" "$small" ${tags[@]+"${tags[@]}"} -timeout 20m ${skip[@]+"${skip[@]}"} "$@" "${packages[@]}" &
watched=$!
set +m
stop() {
	kill "-$1" -- -$page -$unwatched -$watched 2>/dev/null || true
	wait
	cat "$output"/*
	exit 1
}
for signal in INT QUIT TERM; do trap "stop $signal" $signal; done
status=0
for tests in $watched $unwatched $page; do wait $tests || status=$?; done
cat "$output"/*
exit $status
