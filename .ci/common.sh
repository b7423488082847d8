# What .ci/run and .ci/search share. They source it from the root of the repository.
root=$PWD
tools=$root/.tools
# Clones with the same scripts share what these install. It is next to the build cache after the first run (keep_tools).
kept=$(dirname "$(go env GOCACHE)")/interlude/tools-$( (git ls-files -s .ci && go env GOVERSION) | git hash-object --stdin)
if [ ! -e "$tools" ] && [ -d "$kept" ]; then touch "$kept" && ln -sfn "$kept" "$tools"; fi
keep_tools() {
	[ ! -L "$tools" ] && [ ! -e "$kept" ] || return 0
	mkdir -p "${kept%/*}"
	find "${kept%/*}" -maxdepth 1 -name 'tools-*' -mtime +30 -exec rm -rf {} +
	mv "$tools" "$kept.$$" # this may copy files, so the final name comes later
	mv "$kept.$$" "$kept"
	ln -s "$kept" "$tools"
}
# free prints the space left where builds and tests write, in MiB.
free() {
	df -Pm "${TMPDIR:-/tmp}" "$(go env GOCACHE)" | awk 'NR > 1 && (NR == 2 || $4 < least) { least = $4 } END { print least }'
}
# Everything is compiled with -trimpath, so that foreign packages are compiled once for every clone.
GOFLAGS="$(go env GOFLAGS) -trimpath"
export GOFLAGS
. .ci/race.sh
# Most of these programs have a small heap and allocate much: collect garbage less often, within a limit.
export GOGC=${GOGC:-400} GOMEMLIMIT=${GOMEMLIMIT:-4GiB}
# Keep temporary files in memory where there is enough of it: the worst that happens to a file here is kill -9, which
# memory survives as a disk does.
memory=
if [ "${CI:-}" = true ] && [ "$(df -Pm /dev/shm 2>/dev/null | awk '$1 == "tmpfs" { print $4 }')" -ge 12000 ] 2>/dev/null; then
	memory=$(mktemp -d /dev/shm/interlude-XXXXXX)
	chmod 1777 "$memory" # a server of another user has its files there
	export TMPDIR=$memory
fi
dir=$(mktemp -d)
chmod 711 "$dir" # a server of another user has its programs there
trap 'jobs -p | xargs -r kill 2>/dev/null || true; rm -rf "$dir" ${memory:+"$memory"}' EXIT

modules=$(git ls-files '*go.mod' | xargs -n1 dirname | sed 's,^[^.],./&,')
# in_work MODULE reports whether it is in the workspace. engine/adk is not: it needs a newer Go.
in_work() { go work edit -json | grep -qF "\"DiskPath\": \"$1\""; }
# at MODULE COMMAND… runs the command there, outside of the workspace if the module is not in it.
at() {
	local module=$1
	shift
	if in_work "$module"; then (cd "$module" && "$@"); else (cd "$module" && GOWORK=off "$@"); fi
}

# need_space MIB fails if less is left. Outside of CI, only the owner of the build cache empties it.
need_space() {
	mkdir -p "$(go env GOCACHE)"
	if [ "$(free)" -lt "$1" ] && [ -n "${CI:-}" ]; then go clean -cache; fi
	[ "$(free)" -ge "$1" ] ||
		fail "$(free) MiB are free where builds and tests write, $1 are needed: go clean -cache frees some"
}

# pooler reports whether PgBouncer is installed; without it, its tests are not compiled.
pooler() { command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]; }
# install_pgbouncer installs it where that is possible.
install_pgbouncer() {
	if ! pooler && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		DEBIAN_FRONTEND=noninteractive apt-get -qy install pgbouncer >/dev/null 2>&1 </dev/null || true
	fi
	pooler || echo "PgBouncer is missing: its tests are not compiled"
}

# postgres_programs SET installs a set of PostgreSQL's programs (.ci/clients.sh) and prints their folders. These are
# copies, because the server's user may lack access to the clone.
postgres_programs() {
	local programs to
	[ "$(uname -sm)" = "Linux x86_64" ] || return 0 # there are none for other systems
	.ci/clients.sh "$1" >&2 || return
	for programs in "$tools/$1"/node_modules/pg*; do
		to=$dir/${programs##*/}
		cp -r "$programs/native" "$to" && chmod -R go+rX "$to" || return
		echo "$to/bin"
	done
}
