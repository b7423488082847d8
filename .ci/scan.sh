#!/usr/bin/env bash
# Scans the page and the API of a running server with two kept scanners: scan.sh INTERLUDE, where INTERLUDE is the
# program. MDN's HTTP Observatory judges the headers. Wapiti attacks each parameter of the URLs below, and what the page
# leads to. Neither makes requests to another host.
set -euo pipefail
cd "$(dirname "$0")/.."
interlude=$(realpath "$1")
tools=$PWD/.tools/scan
. .ci/npm.sh
package=@mdn/mdn-http-observatory
observatory=$tools/node_modules/$package
fail() { echo "scan: $*" >&2; exit 1; }

for need in curl node npm; do
	command -v $need >/dev/null || fail "$need is missing: install curl and Node.js 20 or newer with npm"
done
# finish makes a file that an install script would download: the list of sites that browsers reach by TLS alone.
finish() { echo '{}' >"node_modules/$package/conf/hsts-preload.json"; }
npm_installed scan "$tools" || npm_install scan "$tools" ci --ignore-scripts --omit=optional || exit
if ! command -v wapiti >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends wapiti >/dev/null 2>&1 </dev/null || true
fi

dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
(cd "$dir" && exec "$interlude" serve -json -listen 127.0.0.1:0 >serve.json 2>serve.log) &
server=$!
for _ in $(seq 200); do
	[ -s "$dir/serve.json" ] && break
	kill -0 $server 2>/dev/null || { cat "$dir/serve.log" >&2; fail "interlude serve ends"; }
	sleep 0.05
done
page=$(node -p 'JSON.parse(require("fs").readFileSync(0)).page' <"$dir/serve.json")
for _ in $(seq 200); do # the demo agent's first question: from then on nothing changes by itself
	curl -sf "${page}api/inbox/count" | grep -q '"total":1' && break
	sleep 0.05
done
# state is what the server stores.
state() { curl -sf "${page}api/runs" && curl -sf "${page}api/runs/hello/history"; }
before=$(state)

# Each test of the observatory must pass but for two: TLS is the proxy's in front (docs/web.md).
cat >"$dir/judge.js" <<'END'
	const found = JSON.parse(require("fs").readFileSync(0));
	const tests = Object.entries(found.tests ?? {});
	const failed = tests.filter(([name, t]) => !t.pass && !["redirection", "strict-transport-security"].includes(name));
	for (const [name, t] of failed) console.log(`${process.argv[2]}: ${name}: ${t.result}`);
	if (tests.length < 10) console.log(`${process.argv[2]}: ${tests.length} tests, want 10: ${found.error}`);
	process.exit(failed.length > 0 || tests.length < 10 ? 1 : 0);
END
for path in "" api/runs; do
	target=${page#http://}$path
	if ! node "$observatory/src/scan.js" "$target" >"$dir/observatory.json"; then
		cat "$dir/observatory.json" >&2
		fail "the observatory fails"
	fi
	node "$dir/judge.js" "$target" <"$dir/observatory.json" || fail "the observatory finds the above"
done

# All modules that attack, but for those that make requests to another host, and those that look for programs of others.
# The headers were judged above, by newer rules. An answer that comes too late counts as a finding, and other steps run
# at the same time: so the time limit (-t) is 30 seconds.
modules=backup,blindsql,cookieflags,crlf,csp,csrf,exec,file,htaccess,methods,permanentxss,redirect,shellshock,sql,xss
scanned=0
if command -v wapiti >/dev/null; then
	filter='all=true&label=a%3Db&pool=default&key=k&kind=confirm&due_before=2026-01-01T00:00:00Z&after=x&limit=5'
	runs='after=x&limit=5&state=queued&pool=default&key=k&held=true&forked_from=x&label=a%3Db&newest=true'
	urls=()
	for path in "inbox?$filter" "inbox/count?$filter" "runs?$runs" runs/hello runs/hello/history runs/hello/questions \
		me openapi.json; do
		urls+=(-s "${page}api/$path")
	done
	session=(--flush-session --store-session "$dir/session" --no-bugreport)
	if ! HOME=$dir timeout 120 wapiti -u "$page" "${urls[@]}" --scope folder -d 3 -t 30 -m "$modules" "${session[@]}" \
		-f json -o "$dir/wapiti.json" -v 1 >"$dir/wapiti.log" 2>&1; then
		tail -n 5 "$dir/wapiti.log" >&2
		fail "wapiti fails"
	fi
	cat >"$dir/found.js" <<'END'
	const found = JSON.parse(require("fs").readFileSync(0));
	const all = Object.entries({ ...found.vulnerabilities, ...found.anomalies });
	const text = (kind, f) => `${kind}: ${f.method} ${f.path} ${f.parameter}: ${f.info}`;
	const each = all.flatMap(([kind, list]) => list.map((f) => text(kind, f)));
	for (const line of each) console.log(line);
	process.exit(each.length > 0 || all.length === 0 ? 1 : 0);
END
	node "$dir/found.js" <"$dir/wapiti.json" || fail "wapiti finds the above"
	scanned=$(grep -c '^\[+\] GET' "$dir/wapiti.log" || true)
	if [ "$scanned" -lt 20 ]; then
		tail -n 20 "$dir/wapiti.log" >&2
		fail "wapiti has attacked $scanned times: it did not reach the server"
	fi
else
	echo "scan: Wapiti is missing here and was not run: install it, such as by apt-get install wapiti" >&2
fi
kill -0 $server || { cat "$dir/serve.log" >&2; fail "the server has ended"; }
[ "$before" = "$(state)" ] || fail "the scan has changed what is stored"
echo "scan: the observatory finds only what a proxy with TLS adds, and Wapiti, with $scanned targets, nothing;" \
	"what is stored has not changed"
