#!/usr/bin/env bash
# Installs the agents that the tests drive, in the versions that they were tried with: agents.sh [FOLDER [AGENT...]], a
# folder for each agent in FOLDER (default: .tools/agents), and prints FOLDER. Without AGENT it installs all. An agent
# that is there in its version stays. Claude Code has a licence of its own and is not installed here: its tests run when
# INTERLUDE_AGENTS_CLAUDE names the program. Versions and hashes of all packages are in npm/agents-*.
set -euo pipefail
. "$(dirname "$0")/npm.sh"

# installed succeeds if the agent is there in its version, with its program.
installed() { [ -x "$folder/$1/node_modules/.bin/$1" ] && npm_installed "agents-$1" "$folder/$1"; }

folder=${1:-$(cd "$(dirname "$0")/.." && pwd)/.tools/agents}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
shift $(($# > 0))
for agent in codex gemini opencode qwen; do
	[ $# = 0 ] || [[ " $* " == *" $agent "* ]] || continue
	installed "$agent" && continue
	command -v node >/dev/null || { echo "node is missing, which the agents need: install Node.js 20 or newer with npm" >&2; exit 1; }
	# The lockfiles of the last two lack optional packages for other systems, which npm ci asks for; npm install checks
	# the hashes, too.
	case $agent in opencode | qwen) how=install ;; *) how=ci ;; esac
	npm_install "agents-$agent" "$folder/$agent" $how
	installed "$agent" || { echo "$agent has no program after its installation" >&2; exit 1; }
done
echo "$folder"
