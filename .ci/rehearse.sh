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
trap 'echo "rehearse: line $LINENO fails: $BASH_COMMAND" >&2' ERR
once=
[ "${1:-}" != -once ] || { once=1 && shift; }
dir=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
version=$(go run ./proof/release -modules | awk 'NR == 1 { print $3 }')
plain=${version#v}

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

machine=$(go env GOOS)/$(go env GOARCH)
[ "$machine" = linux/amd64 ] || { echo "rehearse: nothing can be started here, on $machine"; exit; }
base=$dir/one/interlude_${plain}_linux_amd64
tar -xzf "$base.tar.gz" -C "$dir"
program=$dir/interlude_${plain}_linux_amd64/interlude
[ "$("$program" version)" = "interlude $version" ] || fail "the program has another version: $("$program" version)"
started archive "$program"
if command -v dpkg-deb >/dev/null; then
	dpkg-deb -x "$base.deb" "$dir/deb"
	[ "$(dpkg-deb -f "$base.deb" Version)" = "$plain" ] || fail "the package has another version"
	started deb "$dir/deb/usr/bin/interlude"
	for file in lib/systemd/system/interlude.service share/doc/interlude/{copyright,NOTICES} share/bash-completion/completions/interlude; do
		[ -s "$dir/deb/usr/$file" ] || fail "the package lacks $file"
	done
	[ "$(dpkg-deb -I "$base.deb" conffiles)" = /etc/interlude/environment ] || fail "the settings are no conffile"
fi
if command -v rpm2cpio >/dev/null && command -v cpio >/dev/null; then
	# Its names are absolute: without the flag, cpio writes to the root of this machine. The status of rpm2cpio is 1 for a
	# package without a signature; cmp below checks what was unpacked.
	(mkdir "$dir/rpm" && cd "$dir/rpm" && { rpm2cpio "$base.rpm" || true; } | cpio -idm --quiet --no-absolute-filenames 2>"$dir/log") || fail "the RPM package cannot be unpacked"
	cmp "$dir/rpm/usr/bin/interlude" "$dir/deb/usr/bin/interlude" || fail "the RPM package has another program"
else
	echo "rehearse: the RPM package was not unpacked: rpm2cpio or cpio is missing"
fi
# The image has only these files. The program gets them as its root, with the image's user and folder.
tar -xzf "$base-image.tar.gz" -C "$dir"
image=$dir/interlude_${plain}_linux_amd64-image
if [ "$(id -u)" = 0 ] && command -v unshare >/dev/null; then
	mkdir -p "$image/root/var/lib/interlude"
	chown -R 65532:65532 "$image/root/var/lib/interlude"
	chmod 755 "$dir" # another user must reach it
	started image unshare --root "$image/root" --wd /var/lib/interlude --setuid 65532 --setgid 65532 /usr/bin/interlude
fi
if command -v buildah >/dev/null; then
	if buildah --storage-driver vfs --root "$dir/storage" --runroot "$dir/run" bud --isolation chroot -f packaging/Dockerfile \
		-t "oci:$dir/oci:latest" "$image" >"$dir/log" 2>&1; then
		echo "rehearse: buildah has built the image from packaging/Dockerfile"
	else
		cat "$dir/log" >&2
		fail "buildah cannot build the image"
	fi
else
	echo "rehearse: the image was not built: buildah is missing"
fi
if [ -e "$dir/one/interlude.rb" ]; then
	while read -r sum; do grep -q "^$sum " "$dir/one/checksums.txt" || fail "the formula has a wrong checksum"; done \
		< <(sed -n 's/.*sha256 "\(.*\)"/\1/p' "$dir/one/interlude.rb")
	if command -v ruby >/dev/null; then ruby -c "$dir/one/interlude.rb" >/dev/null || fail "the formula is not Ruby"; fi
fi
echo "rehearse: $version can be released; not tried here: Homebrew, a registry, a cluster, other systems' binaries"
