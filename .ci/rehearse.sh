#!/usr/bin/env bash
# Rehearses the files of a release. Builds them twice, in this clone and in a copy of its commit in another folder, and
# compares them byte for byte. Then it unpacks archive, packages and image into clean roots and starts the program there,
# as a user without Go does, and prints the time to the page with a question.
#
#   .ci/rehearse.sh               all systems
#   .ci/rehearse.sh linux/amd64   only these; formula and other systems' archives are left out
#   .ci/rehearse.sh -once …       builds them once, and compares nothing
set -Eeuo pipefail
cd "$(dirname "$0")/.."
fail() { echo "rehearse: $*" >&2; exit 1; }
. .ci/started.sh
. .ci/roots.sh
trap 'echo "rehearse: line $LINENO fails: $BASH_COMMAND" >&2' ERR
once=
[ "${1:-}" != -once ] || { once=1 && shift; }
dir=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
version=$(go run ./proof/release -modules | awk 'NR == 1 { print $3 }')
plain=${version#v}
untried=("Homebrew itself" "a registry" "a cluster" "Docker Compose" "macOS" "the workflows")
has_tool() { command -v "$1" >/dev/null || { untried+=("$2, because $1 is missing") && false; }; }

.ci/release "$version" "$dir/one" "$@"
if [ -z "$once" ]; then
	git ls-files -z | (cd "$PWD" && xargs -0 tar -cf - --) | (mkdir "$dir/copy" && tar -xf - -C "$dir/copy")
	ln -s "$PWD/.tools" "$dir/copy/.tools"
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
	export SOURCE_DATE_EPOCH
	(cd "$dir/copy" && git init -q && git add . && .ci/release "$version" "$dir/two" "$@")
	diff -r "$dir/one" "$dir/two" || fail "two builds of one commit differ"
fi
(cd "$dir/one" && sha256sum --quiet -c checksums.txt) || fail "checksums"
go run ./proof/release -verify "$dir/one" || fail "a program is wrong"
tags_reach_the_remote

machine=$(go env GOOS)/$(go env GOARCH)
[ "$machine" = linux/amd64 ] || { echo "rehearse: nothing can be started here, on $machine"; exit; }
base=$dir/one/interlude_${plain}_linux_amd64
tar -xzf "$base.tar.gz" -C "$dir"
program=$dir/interlude_${plain}_linux_amd64/interlude
[ "$("$program" version)" = "interlude $version" ] || fail "the program has another version: $("$program" version)"
started archive "$program"
root=
[ "$(id -u)" = 0 ] && command -v unshare >/dev/null && root=yes
[ -n "$root" ] || untried+=("clean roots, which need root")
chmod 755 "$dir" # other users must reach it

if has_tool dpkg "the Debian package"; then
	dpkg-deb -x "$base.deb" "$dir/deb"
	[ "$(dpkg-deb -f "$base.deb" Version)" = "$plain" ] || fail "the package has another version"
	for file in lib/systemd/system/interlude.service share/doc/interlude/{copyright,NOTICES} share/bash-completion/completions/interlude; do
		[ -s "$dir/deb/usr/$file" ] || fail "the package lacks $file"
	done
	[ "$(dpkg-deb -I "$base.deb" conffiles)" = /etc/interlude/environment ] || fail "the settings are no conffile"
	if [ -n "$root" ]; then package_lives "$base.deb"; else started deb "$dir/deb/usr/bin/interlude"; fi
	if has_tool systemd-analyze "the unit"; then
		sed "s,/usr/bin/interlude,$dir/deb&," "$dir/deb/usr/lib/systemd/system/interlude.service" >"$dir/interlude.service"
		systemd-analyze verify --man=no "$dir/interlude.service" || fail "the unit"
		systemd-analyze security --offline=true --threshold=20 "$dir/interlude.service" >/dev/null || fail "the unit is open"
	fi
fi
if has_tool rpm2cpio "the RPM package" && has_tool cpio "the RPM package"; then
	# Its names are absolute: without the flag, cpio writes to the root of this machine. The status of rpm2cpio is 1 for a
	# package without a signature; cmp below checks what was unpacked.
	(mkdir "$dir/rpm" && cd "$dir/rpm" && { rpm2cpio "$base.rpm" || true; } | cpio -idm --quiet --no-absolute-filenames 2>"$dir/log") || fail "the RPM package cannot be unpacked"
	cmp "$dir/rpm/usr/bin/interlude" "$program" || fail "the RPM package has another program"
fi
# The image has only these files. The program gets them as its root, with the image's user and folder.
tar -xzf "$base-image.tar.gz" -C "$dir"
image=$dir/interlude_${plain}_linux_amd64-image
if [ -n "$root" ]; then
	mkdir -p "$image/root/var/lib/interlude"
	chown -R 65532:65532 "$image/root/var/lib/interlude"
	started image "${sealed[@]}" "$image/root" /usr/bin/interlude
	rm -r "$image/root/var"
fi
if has_tool buildah "the image"; then image_from_dockerfile "$image"; fi

other=interlude_${plain}_linux_arm64
if [ -e "$dir/one/$other.tar.gz" ] && has_tool qemu-aarch64-static "linux/arm64"; then
	tar -xzf "$dir/one/$other.tar.gz" -C "$dir"
	started arm64-emulated qemu-aarch64-static "$dir/$other/interlude"
fi
[ -e "$dir/one/interlude_${plain}_windows_amd64.zip" ] && windows_starts "$dir/one/interlude_${plain}_windows_amd64.zip"
if [ -e "$dir/one/interlude.rb" ] && has_tool ruby "the formula"; then
	ruby -c "$dir/one/interlude.rb" >/dev/null || fail "the formula is not Ruby"
	ruby .ci/formula.rb "$dir/one" || fail "the formula"
fi
if [ $# = 0 ] && [ -n "$root" ] && has_tool debootstrap "a fresh Debian"; then debian_installs "$base.deb"; fi
echo "rehearse: $version can be released. Not tried here:"
printf '  %s\n' "${untried[@]}"
