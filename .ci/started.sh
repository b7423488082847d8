# What tells how long a user waits for the page with a question; sourced with $dir, a folder, and fail.
server=
# has URL PATTERN reads the whole response first: grep -q ends early, and curl fails in a pipe that is closed.
has() {
	local response
	response=$(curl -sf "$1") && grep -qi "$2" <<<"$response"
}
settings=() # variables of the program
# started NAME PROGRAM… starts the program in an empty folder and waits until the page shows its first question, or
# $question. It prints the time since the start, or since $began.
started() {
	local name=$1 began=${began:-$(date +%s%N)} home=$dir/home-$1 page probes asked=
	shift
	mkdir "$home"
	(cd "$home" && exec env -i HOME="$home" PATH=/usr/bin:/bin "${settings[@]}" "$@" serve -json -listen 127.0.0.1:0 -probes 127.0.0.1:0 \
		>"$dir/$name.out" 2>"$dir/$name.log") &
	server=$!
	for _ in $(seq "${patience:-600}"); do
		page=$(sed -n 's/.*"page":"\([^"]*\)".*/\1/p' "$dir/$name.out" 2>/dev/null || true)
		probes=$(sed -n 's/.*"probes":"\([^"]*\)".*/\1/p' "$dir/$name.out" 2>/dev/null || true)
		if [ -n "$page" ] && has "${page}api/inbox" "${question:-How shall it sound}"; then asked=yes && break; fi
		kill -0 $server 2>/dev/null || { cat "$dir/$name.log" >&2; fail "$name: the program ends"; }
		sleep 0.05
	done
	[ -n "$asked" ] || { cat "$dir/$name.log" >&2; fail "$name: no question appears"; }
	echo "$name: the first question was on the page $((($(date +%s%N) - began) / 1000000)) ms after the start"
	has "$page" '<!doctype html>' || fail "$name: there is no page"
	has "$probes/readyz" '"ready"' || fail "$name is not ready"
	has "$probes/metrics" '^interlude_nodes' || fail "$name has no metrics"
	kill "$server"
	wait "$server" || fail "$name ends with status $?"
	server=
}
