#!/usr/bin/env bash
# Installs the protocol clients that the tests drive, in pinned versions: MCP clients with the MCP conformance suite,
# and the Node.js that all clients need (.tools/mcp); clients for chat pages with a bundler (.tools/ui); and Slack's
# library (.tools/slack). An installed version is not installed again.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "clients: $*" >&2; exit 1; }

# wanted prints the packages of a set and their versions; the lock has those of all packages, and their hashes.
wanted() { sed -n 's|^    "\(.*\)": "\(.*\)".*|\1@\2|p' ".ci/npm/$1/package.json"; }

# installed succeeds if all packages of a set are installed in these versions.
installed() {
	local package
	for package in $(wanted "$1"); do
		grep -qF "\"version\": \"${package##*@}\"" ".tools/$1/node_modules/${package%@*}/package.json" 2>/dev/null || return
	done
}

for set in mcp ui slack; do
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
	rm -rf ".tools/$set" "$new.log"
	mv "$new" ".tools/$set"
	installed "$set" || fail "npm has installed other versions"
done
