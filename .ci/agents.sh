#!/usr/bin/env bash
# Installs the agents that the tests drive, in the versions that they were tried with: agents.sh [FOLDER [AGENT...]], a
# folder for each agent in FOLDER (default: .tools/agents), and prints FOLDER. Without AGENT it installs all. An agent
# that is there in its version stays. Claude Code has a licence of its own and is not installed here: its tests run when
# INTERLUDE_AGENTS_CLAUDE names the program. Versions and hashes of all packages are in npm/agents-*.
set -euo pipefail
npm=$(cd "$(dirname "$0")" && pwd)/npm

agents='
codex @openai/codex
gemini @google/gemini-cli
opencode opencode-ai
qwen @qwen-code/qwen-code
'

# found says whether the agent is there in its version, with its program.
found() {
	[ -x "$1/node_modules/.bin/$2" ] && grep -qF "\"version\": \"$4\"" "$1/node_modules/$3/package.json" 2>/dev/null
}

# install puts the agent into a new folder first, so that it is there in whole or not at all.
install() {
	local new log how
	new=$(mktemp -d "$folder/.$1.XXXXXX")
	log=$new/install.log
	echo "installing $2 $3" >&2
	cp "$npm/agents-$1/"package*.json "$new/"
	how=ci
	# Their lockfiles lack optional packages for other systems, which npm ci asks for; install checks the hashes, too.
	case $1 in opencode | qwen) how=install ;; esac
	if ! npm $how --prefix "$new" --no-audit --no-fund --no-update-notifier >"$log" 2>&1 </dev/null || ! found "$new" "$1" "$2" "$3"; then
		tail -n 3 "$log" >&2
		rm -rf "$new"
		echo "$2 $3 cannot be installed by npm: see above" >&2
		exit 1
	fi
	rm -rf "${folder:?}/$1"
	mv "$new" "$folder/$1"
}

folder=${1:-$(cd "$(dirname "$0")/.." && pwd)/.tools/agents}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
shift $(($# > 0))
while read -r program package; do
	[ -n "$program" ] || continue
	[ $# = 0 ] || [[ " $* " == *" $program "* ]] || continue
	version=$(sed -n "s|.*\"$package\": \"\(.*\)\".*|\1|p" "$npm/agents-$program/package.json")
	found "$folder/$program" "$program" "$package" "$version" && continue
	for need in node npm; do
		command -v $need >/dev/null || { echo "$need is missing, which the agents need: install Node.js 20 or newer with npm" >&2; exit 1; }
	done
	install "$program" "$package" "$version"
done <<<"$agents"
echo "$folder"
