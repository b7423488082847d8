#!/usr/bin/env bash
# Makes a TypeScript client from the OpenAPI document of a running server, compiles a program with it, and runs that
# program against the server.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD/examples/desk/client.ts
tools=$PWD/.tools/typescript
lock=$PWD/.ci/npm/typescript # the versions of all packages, and their hashes
packages=$(sed -n 's|^    "\(.*\)": "\(.*\)".*|\1@\2|p' "$lock/package.json" | tr '\n' ' ')
fail() { echo "typescript: $*" >&2; exit 1; }

for need in node npm; do
	command -v $need >/dev/null || fail "$need is missing: install Node.js 20 or newer with npm"
done
# installed succeeds if all packages are installed in these versions.
installed() {
	local package
	for package in $packages; do
		grep -qF "\"version\": \"${package##*@}\"" "$tools/node_modules/${package%@*}/package.json" 2>/dev/null || return
	done
}
if ! installed; then
	mkdir -p .tools
	new=$(mktemp -d "$PWD/.tools/.typescript.XXXXXX") # moved at the end: all packages are installed, or none
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

dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -o "$dir/desk" ./examples/desk
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => {
	console.log(s.address().port); s.close() })')
secret=$(printf '%032d' 0)
hook=whsec_$(printf %s "$secret" | base64)
(cd "$dir" && LINK_SECRET=$secret HOOK_SECRET=$hook exec ./desk "127.0.0.1:$port" http://127.0.0.1:9/ >desk.log 2>&1) &
server=$!
for _ in $(seq 200); do
	grep -q 'all: serving' "$dir/desk.log" 2>/dev/null && break
	kill -0 $server 2>/dev/null || { cat "$dir/desk.log" >&2; fail "examples/desk ends"; }
	sleep 0.05
done
url=http://127.0.0.1:$port/interlude/api

cp "$source" "$dir/"
ln -s "$tools/node_modules" "$dir/node_modules"
cd "$dir"
echo '{"type": "module"}' >package.json
cat >tsconfig.json <<-END
	{"files": ["client.ts"], "compilerOptions": {"strict": true, "noUncheckedIndexedAccess": true, "skipLibCheck": true,
	"types": [], "target": "es2022", "module": "nodenext",
	"lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"]}}
END
# The generator's own linter, with its recommended rules but these: sign-in belongs to the host (security), "default"
# describes all problems (4xx), the document has the project's licence, and the components that no response names are
# the data of streams.
cat >lint.js <<-'END'
	import { createConfig, lint } from "@redocly/openapi-core";
	const rules = { "security-defined": "off", "operation-4xx-response": "off", "info-license": "off",
		"no-unused-components": "off" };
	const found = await lint({ ref: process.argv[2], config: await createConfig({ extends: ["recommended"], rules }) });
	for (const { ruleId, message, location } of found) console.log(ruleId, message, location?.[0]?.pointer);
	process.exit(found.length > 0 ? 1 : 0);
END
node lint.js "$url/openapi.json" || fail "the linter finds the above in the OpenAPI document"
node_modules/.bin/openapi-typescript "$url/openapi.json" -o api.d.ts >generator.log 2>&1 ||
	{ cat generator.log >&2; fail "the document makes no client"; }
node_modules/.bin/tsc -p . || fail "examples/desk/client.ts does not compile with the types of the document"
timeout 60 node client.js "$url" >client.log || { cat client.log desk.log >&2; fail "the client fails"; }
grep -qx 'shipped' client.log || { cat client.log >&2; fail "the run does not end with the client's answer"; }
echo "typescript: the client of the document compiles, and has answered a question"
