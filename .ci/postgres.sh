#!/usr/bin/env bash
# Sees to PostgreSQL's programs, with which tests start servers of their own, to restart and to kill. A server that INTERLUDE_POSTGRES names does for
# the other tests only.
set -euo pipefail

# found says whether the programs are where store/postgres/pglocal looks for them.
found() {
	local dir initdb
	[ -z "${INTERLUDE_PG_BIN:-}" ] || { [ -x "$INTERLUDE_PG_BIN/initdb" ] && [ -x "$INTERLUDE_PG_BIN/postgres" ]; return; }
	initdb=$(command -v initdb) || initdb=/nowhere/initdb
	for dir in "${initdb%/*}" \
		/usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /opt/homebrew/opt/postgresql*/bin \
		/usr/local/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin /usr/local/pgsql/bin ; do
		[ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && return
	done
	return 1
}

# install is for machines that are there for tests: it makes no cluster, so that no server starts beside ours.
install() {
	local conf=/etc/postgresql-common/createcluster.d/interlude.conf log
	echo 'installing PostgreSQL' >&2
	log=$(mktemp)
	mkdir -p "${conf%/*}"
	echo 'create_main_cluster = false' >"$conf"
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install postgresql; } >"$log" 2>&1 </dev/null || tail -n 3 "$log" >&2
	rm -f "$conf" "$log"
}

found && exit
[ -z "${INTERLUDE_PG_BIN:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && install
found && exit
echo "PostgreSQL's programs initdb and postgres are missing: install them (Debian, Ubuntu: apt-get install -y postgresql; macOS: brew install postgresql), or name their folder in INTERLUDE_PG_BIN" >&2
exit 1
