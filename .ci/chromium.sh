#!/usr/bin/env bash
# Installs Chromium and axe-core, with which proof/page tests the page of host/web as a person meets it: with "whole" the
# whole browser, otherwise the headless shell where Debian has it, which is the same without windows.
set -euo pipefail

. "$(dirname "$0")/npm.sh"

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

axe=$(dirname "$0")/../.tools/axe
npm_installed axe "$axe" || npm_install axe "$axe"
