#!/usr/bin/env bash
# Sees to Chromium and axe-core, with which proof/page tests the page of host/web as a person meets it.
set -euo pipefail

lock=$(cd "$(dirname "$0")" && pwd)/npm/axe # the version, and its hash
axe=$(sed -n 's|.*"axe-core": "\(.*\)".*|\1|p' "$lock/package.json")

# found says whether a browser is where proof/page looks for it.
found() {
	local program
	[ -z "${INTERLUDE_CHROMIUM:-}" ] || { [ -x "$INTERLUDE_CHROMIUM" ]; return; }
	for program in chromium chromium-browser google-chrome; do
		command -v $program >/dev/null && return
	done
	return 1
}

install() {
	local log
	echo 'installing Chromium' >&2
	log=$(mktemp)
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends chromium fonts-liberation; } >"$log" 2>&1 </dev/null ||
		tail -n 3 "$log" >&2
	rm -f "$log"
}

if ! found && [ -z "${INTERLUDE_CHROMIUM:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then install; fi
found || {
	echo "Chromium is missing: install it (Debian: apt-get install -y chromium), or name the program in INTERLUDE_CHROMIUM" >&2
	exit 1
}

folder=$(cd "$(dirname "$0")/.." && pwd)/.tools
there() { grep -qF "\"version\": \"$axe\"" "$folder/axe/node_modules/axe-core/package.json" 2>/dev/null; }
there && exit
command -v npm >/dev/null || { echo "npm is missing, by which axe-core comes: install Node.js 20 or newer with npm" >&2; exit 1; }
mkdir -p "$folder"
new=$(mktemp -d "$folder/.axe.XXXXXX") # so that it is there in whole or not at all
echo "installing axe-core $axe" >&2
cp "$lock/"package*.json "$new/"
if ! npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --no-update-notifier >"$new/install.log" 2>&1 </dev/null; then
	tail -n 3 "$new/install.log" >&2
	rm -rf "$new"
	exit 1
fi
rm -rf "$folder/axe"
mv "$new" "$folder/axe"
there
