#!/usr/bin/env bash
# Builds the package clients/typescript with types from the OpenAPI document of a running server, installs it from its
# tarball, and runs a program with it against the server.
#
#   .ci/typescript.sh DIR    also copies the package to a folder
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD/examples/desk/client.ts
to=${1:-}
[ -z "$to" ] || { mkdir -p "$to" && to=$(cd "$to" && pwd); }
tools=$PWD/.tools/typescript
. .ci/npm.sh
fail() { echo "typescript: $*" >&2; exit 1; }

for need in node npm; do
	command -v $need >/dev/null || fail "$need is missing: install Node.js 20 or newer with npm"
done
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || fail "node is $(node --version): install Node.js 20 or newer"
npm_installed typescript "$tools" || npm_install typescript "$tools" || exit

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

mkdir "$dir/package" "$dir/user"
cp -r clients/typescript/. LICENSE "$dir/package/"
cp "$source" clients/typescript/test/follow.ts "$dir/user/"
{ echo 'declare const token: string;' && sed -n '/^```ts$/,/^```$/p' clients/typescript/README.md | grep -v '^```'; } >"$dir/user/readme.ts"
ln -s "$tools/node_modules" "$dir/package/node_modules"
cd "$dir/package"
options='"strict": true, "noUncheckedIndexedAccess": true, "skipLibCheck": true, "types": [], "target": "es2022",
	"module": "nodenext", "lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"]'
echo "{\"files\": [\"src/client.ts\"], \"compilerOptions\": {$options, \"declaration\": true, \"outDir\": \"dist\"}}" >tsconfig.json
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
node_modules/.bin/openapi-typescript "$url/openapi.json" -o src/api.ts >generator.log 2>&1 ||
	{ cat generator.log >&2; fail "the document makes no client"; }
node_modules/.bin/tsc -p . || fail "clients/typescript does not compile with the types of the document"
npm pack --silent --pack-destination "$dir" >/dev/null || fail "the package cannot be packed"
tarball=$(echo "$dir"/interlude-go-client-*.tgz)
[ -z "$to" ] || cp "$tarball" "$to/"

# A user's project, with the package from its tarball. Its one dependency is here already.
cd "$dir/user"
mkdir -p node_modules/@interlude-go/client
tar -xzf "$tarball" -C node_modules/@interlude-go/client --strip-components 1
ln -s "$tools/node_modules/openapi-fetch" "$tools/node_modules/openapi-typescript-helpers" node_modules/
echo '{"type": "module"}' >package.json
echo "{\"files\": [\"client.ts\", \"follow.ts\", \"readme.ts\"], \"compilerOptions\": {$options}}" >tsconfig.json
"$tools/node_modules/.bin/tsc" -p . || fail "programs do not compile with the package"
timeout 60 node client.js "$url" >client.log || { cat client.log "$dir/desk.log" >&2; fail "the client fails"; }
grep -qx 'shipped' client.log || { cat client.log >&2; fail "the run does not end with the client's answer"; }
timeout 60 node follow.js || fail "a follower loses events"
echo "typescript: the package of the client compiles, is installed from its tarball, and has answered a question"
