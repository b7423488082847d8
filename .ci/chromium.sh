#!/usr/bin/env bash
# Installs Chromium and axe-core, with which proof/page tests the page of host/web as a person meets it: with "whole" the
# whole browser, otherwise the headless shell where Debian has it, which is the same without windows.
set -euo pipefail

lock=$(cd "$(dirname "$0")" && pwd)/npm/axe # the version, and its hash
axe=$(sed -n 's|.*"axe-core": "\(.*\)".*|\1|p' "$lock/package.json")

wanted=chromium-headless-shell
[ "${1:-}" = whole ] && wanted=chromium
browsers=($wanted chromium chromium-browser google-chrome)

# found PROGRAM… says whether one of the browsers is there, or the one that the environment names.
found() {
	local program
	[ -z "${INTERLUDE_CHROMIUM:-}" ] || { [ -x "$INTERLUDE_CHROMIUM" ]; return; }
	for program; do
		command -v "$program" >/dev/null && return
	done
	return 1
}

# install PACKAGE installs it, if this is possible.
install() {
	[ -z "${INTERLUDE_CHROMIUM:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
	local log
	echo "installing $1" >&2
	log=$(mktemp)
	{ apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "$1" fonts-liberation; } >"$log" 2>&1 </dev/null ||
		tail -n 3 "$log" >&2
	rm -f "$log"
}

found $wanted || install $wanted
found "${browsers[@]}" || install chromium # not every system has the shell
found "${browsers[@]}" || {
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
