#!/usr/bin/env bash
# Installs the MCP clients that the tests drive, the conformance suite, and the Node.js that they need, in pinned
# versions, and prints their folder: .tools/mcp. What is installed in these versions stays.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$PWD/.ci/npm/mcp # the versions of all packages, and their hashes
tools=$PWD/.tools/mcp
packages=$(sed -n 's|^    "\(.*\)": "\(.*\)".*|\1@\2|p' "$lock/package.json" | tr '\n' ' ')
fail() { echo "mcp: $*" >&2; exit 1; }

# installed succeeds if all packages are installed in these versions.
installed() {
	local package
	for package in $packages; do
		grep -qF "\"version\": \"${package##*@}\"" "$tools/node_modules/${package%@*}/package.json" 2>/dev/null || return
	done
}
if ! installed; then
	command -v npm >/dev/null || fail "npm is missing: install Node.js 20 or newer with npm"
	mkdir -p .tools
	new=$(mktemp -d "$PWD/.tools/.mcp.XXXXXX") # moved at the end: all packages are installed, or none
	echo "installing $packages" >&2
	cp "$lock/"package*.json "$new/"
	if ! npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --no-update-notifier \
		>"$new.log" 2>&1 </dev/null; then
		tail -n 3 "$new.log" >&2
		rm -rf "$new" "$new.log"
		fail "npm cannot install $packages: see above"
	fi
	rm -rf "$tools" "$new.log"
	mv "$new" "$tools"
	installed || fail "npm has installed other versions than $packages"
fi
echo "$tools"
