#!/usr/bin/env bash
# All tests of all modules, with the race detector. Arguments go to go test: ./test.sh -run TestX
set -euo pipefail
cd "$(dirname "$0")"
command -v go >/dev/null || { echo "test.sh: go is missing: install Go 1.25 or newer" >&2; exit 1; }
command -v "$(go env CC)" >/dev/null || { echo "test.sh: $(go env CC) is missing: the race detector needs a C compiler" >&2; exit 1; }
.ci/postgres.sh
# The last of the workspace first: the stores take longest.
packages=()
while read -r module; do packages=("$module/..." ${packages[@]+"${packages[@]}"}); done < <(go work edit -json | sed -n 's/.*"DiskPath": "\(.*\)".*/\1/p')
# engine/adk needs a newer Go than the others, and is not of the workspace.
if (cd engine/adk && GOWORK=off go list -m) >/dev/null 2>&1; then
	(cd engine/adk && GOWORK=off go test -race -timeout 10m "$@" ./...)
elif [ "${CI:-}" = true ]; then
	echo "test.sh: engine/adk needs $(sed -n 's/^go /Go /p' engine/adk/go.mod) or newer" >&2
	exit 1
else
	echo "test.sh: the tests of engine/adk are not run: it needs $(sed -n 's/^go /Go /p' engine/adk/go.mod) or newer"
fi
# SQLite is C that was translated to Go: it has no races of Go's kind, and is ten times slower when watched.
# Many tests wait for other processes and for disks: one package more than there are processors keeps these busy.
exec go test -p $(($(getconf _NPROCESSORS_ONLN) + 1)) -race -gcflags=modernc.org/sqlite/lib=-race=false -timeout 20m "$@" "${packages[@]}"
