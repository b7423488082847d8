#!/usr/bin/env bash
# Rehearses a release: serves every module as its next tag would give it, from a folder that is a module proxy, and uses them as anybody would who has
# no clone: go get, a host's program, go install of the programs. With -fresh it also measures the installation on a root that has only Go, with an
# empty build cache. With -tidy it only brings the go.mod and go.sum of the programs' modules up to date
# (go mod tidy cannot do that here: what they require is not published, and they have no replace lines).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
fail() { echo "publish: $*" >&2; exit 1; }
dir=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
. .ci/started.sh
set -E
trap 'echo "publish: line $LINENO fails: $BASH_COMMAND" >&2' ERR

go run ./proof/release -to "$dir/proxy"
modules=$(go run ./proof/release -modules) # folder, path, version, tag
house=$(GOWORK=off go list -m)
version=$(awk 'NR == 1 { print $3 }' <<<"$modules")

# Others' modules come from what is here already; what is missing, from the usual proxy. The cache is one of its own, so that none of ours stays.
usual=$(go env GOPROXY | sed 's/[,|]direct$//')
export GOPROXY="file://$dir/proxy,file://$(go env GOMODCACHE)/cache/download,$usual"
export GOWORK=off GONOSUMDB=$house GOMODCACHE=$dir/mod GOBIN=$dir/bin GOFLAGS="$(go env GOFLAGS) -mod=mod -modcacherw -trimpath"

# programs lists the modules that have no replace lines: those that go install takes.
programs() { while read -r folder path _; do [ "$folder" = . ] || grep -q '^replace' "$root/$folder/go.mod" || echo "$folder $path"; done <<<"$modules"; }
# third FILE: its sums of others' modules. Ours come into it with a release.
third() { grep -v "^$house[ /]" "$1"; }

while read -r folder path; do
	cp -r "$root/$folder" "$dir/tidy"
	(cd "$dir/tidy" && go mod tidy) 2>"$dir/log" || { cat "$dir/log" >&2; fail "go mod tidy fails in $folder"; }
	third "$dir/tidy/go.sum" >"$dir/sums"
	if [ "${1:-}" = -tidy ]; then
		cp "$dir/tidy/go.mod" "$root/$folder/go.mod"
		cp "$dir/sums" "$root/$folder/go.sum"
	elif ! diff -u "$folder/go.mod" "$dir/tidy/go.mod" || ! diff -u <(third "$folder/go.sum") "$dir/sums"; then
		fail "$folder is not tidy: .ci/publish.sh -tidy"
	fi
	rm -rf "$dir/tidy"
done < <(programs)
[ "${1:-}" != -tidy ] || exit 0

# host NAME GO: a new program of somebody's, for that Go.
host() { mkdir "$dir/$1" && cd "$dir/$1" && go mod init "example.com/$1" 2>"$dir/log" && go mod edit -go="$2"; }
# get PATH…: as the documents say it.
get() { go get "$@" 2>"$dir/log" || { cat "$dir/log" >&2; fail "go get $*"; }; }

old=$(sed -n 's/^go //p' go.mod)
host host "$old"
while read -r folder path _; do
	grep -qxF "go $old" "$root/$folder/go.mod" || continue # it needs a newer Go: below
	get "$path@$version"
	go list -deps "$path/..." >/dev/null || fail "$path is not complete from outside"
done <<<"$modules"
grep -qxF "go $old" go.mod || fail "a host needs $(grep '^go ' go.mod), though the modules say go $old"
cp "$root/examples/hello/main.go" .
go mod tidy 2>"$dir/log" || { cat "$dir/log" >&2; fail "a host cannot be tidied"; }
go run . | tee "$dir/out"
grep -q '^succeeded: ' "$dir/out" || fail "the README's program does not come to its end"
while read -r folder path _; do
	newer=$(sed -n 's/^go //p' "$root/$folder/go.mod")
	[ "$newer" != "$old" ] || continue
	host newer "$newer"
	get "$path@$version"
	go list -deps "$path/..." >/dev/null || fail "$path is not complete from outside"
done <<<"$modules"

cd "$dir" # outside of every module
began=$(date +%s%N)
for program in cmd/interlude cmd/interlude-bench examples/quickstart; do
	GOPROXY="file://$dir/proxy,file://$dir/mod/cache/download" go install "$house/$program@$version" 2>"$dir/log" || { cat "$dir/log" >&2; fail "go install $program"; }
	[ $program != cmd/interlude ] || started go-install-with-warm-build-cache "$GOBIN/interlude"
done
bin/interlude version | grep -qF "$version" || fail "interlude does not know its version"
bin/interlude new "$dir/skill"
printf '3\nyes\n' | bin/interlude run -agent demo "$dir/skill" || fail "interlude run"
bin/interlude-bench -store memory -runs 20 -concurrency 4 -deadlines 0 || fail "interlude-bench"
printf '2\nyes\nlemonade\n' | bin/quickstart || fail "quickstart"
if [ "${1:-}" = -fresh ]; then
	fresh=$dir/fresh
	mkdir -p "$fresh"/{usr/local/go,ours,others,tmp,dev,root}
	# shellcheck disable=SC2016
	install_and_run=(unshare --mount bash -ec 'fresh=$1 dir=$2 package=$3
		shift 3
		mount --bind "$goroot" "$fresh/usr/local/go"
		mount --bind "$dir/proxy" "$fresh/ours"
		mount --bind "$dir/mod/cache/download" "$fresh/others"
		mount --rbind /dev "$fresh/dev"
		env -i HOME=/root PATH=/usr/local/go/bin GOROOT=/usr/local/go GOPROXY=file:///ours,file:///others GOSUMDB=off GOTOOLCHAIN=local \
			/usr/bin/unshare --root "$fresh" --wd /root /usr/local/go/bin/go install "$package"
		exec env -i HOME=/root /usr/bin/unshare --root "$fresh" --wd /root /root/go/bin/interlude "$@"' fresh "$fresh" "$dir" "$house/cmd/interlude@$version")
	settings=(goroot="$(go env GOROOT)") patience=24000
	began= started go-install-on-a-fresh-root "${install_and_run[@]}"
	echo "publish: the build cache was empty; the modules came from folders, so downloads are not in this time"
fi
echo "publish: $(wc -l <<<"$modules") modules can be published as $version; see RELEASING.md"
