# Installs packages with npm, for the scripts that source it. .ci/npm/SET has a set's versions, and the hashes of all
# packages.
npm_sets=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/npm

# npm_wanted SET prints the packages of a set, with their versions.
npm_wanted() { sed -n 's|^    "\(.*\)": "\(.*\)".*|\1@\2|p' "$npm_sets/$1/package.json"; }

# npm_installed SET FOLDER succeeds if the folder has all packages of the set in these versions.
npm_installed() {
	local package name
	for package in $(npm_wanted "$1"); do
		name=${package%%@npm:*} # of an alias
		[ "$name" != "$package" ] || name=${package%@*}
		grep -qF "\"version\": \"${package##*@}\"" "$2/node_modules/$name/package.json" 2>/dev/null || return
	done
}

# npm_install SET FOLDER [COMMAND [OPTION...]] installs the set; the default is ci --ignore-scripts. If there is a
# function finish, it runs in the folder. Either all of this succeeds, or the folder stays as it was.
npm_install() {
	local set=$1 to=$2 new
	[ $# -gt 2 ] || set -- "$1" "$2" ci --ignore-scripts
	command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer with npm" >&2; return 1; }
	mkdir -p "${to%/*}"
	new=$(mktemp -d "${to%/*}/.${to##*/}.XXXXXX")
	echo "installing" $(npm_wanted "$set") >&2
	cp "$npm_sets/$set/"package*.json "$new/"
	# npm ci --prefix fails if a folder of the path is a symbolic link, as .tools may be.
	if ! (cd "$new" && npm "${@:3}" --no-audit --no-fund --no-update-notifier) >"$new.log" 2>&1 </dev/null ||
		! npm_installed "$set" "$new" || { declare -F finish >/dev/null && ! (cd "$new" && finish); }; then
		{ grep error "$new.log" || cat "$new.log"; } | head -n 5 >&2
		rm -rf "$new" "$new.log"
		echo "npm cannot install these packages: see above" >&2
		return 1
	fi
	rm -rf "$to" "$new.log"
	mv "$new" "$to"
}
