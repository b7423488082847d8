# Roots for rehearsals; sourced by .ci/rehearse.sh, with its variables.

# sealed ROOT PROGRAM… runs the program in a root as the image's user. Where mounts are permitted, only the data
# folder is writable.
if unshare --mount mount --bind /tmp /tmp 2>/dev/null; then
	# shellcheck disable=SC2016
	sealed=(unshare --mount bash -c 'root=$1 data=$1/var/lib/interlude
		shift
		mount --bind "$root" "$root" && mount --bind "$data" "$data" && mount -o remount,bind,ro "$root" || exit
		exec unshare --root "$root" --wd /var/lib/interlude --setuid 65532 --setgid 65532 "$@"' sealed)
else
	untried+=("a read-only root, because mounts are not permitted")
	# shellcheck disable=SC2016
	sealed=(bash -c 'exec unshare --root "$1" --wd /var/lib/interlude --setuid 65532 --setgid 65532 "${@:2}"' sealed)
fi

# tags_reach_the_remote runs the commands of .ci/release -tags against a remote that is a local folder.
tags_reach_the_remote() {
	local commands
	commands=$(.ci/release "$version" -tags 2>/dev/null)
	git init -q --bare "$dir/remote.git"
	git init -q "$dir/tagged"
	(
		cd "$dir/tagged"
		export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.com GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.com
		git remote add origin "$dir/remote.git"
		git commit -qm "a release" --allow-empty
		bash -ec "$commands" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; fail "the tags cannot be pushed"; }
	)
	[ "$(git -C "$dir/remote.git" tag | wc -l)" = "$(git ls-files '*go.mod' | wc -l)" ] || fail "not every module has a tag"
	[ "$(sed -n '1s/.* origin //p' <<<"$commands")" = "$version" ] || fail "the first tag is not the root's"
}

# fresh ROOT makes a minimal root: a shell for the packages' scripts, and a systemctl that records its calls.
fresh() {
	local file
	mkdir -p "$1"/{bin,tmp,run/systemd/system,var/lib/dpkg/{info,updates}}
	touch "$1"/var/lib/dpkg/{status,available}
	for file in /bin/sh $(ldd /bin/sh | grep -o '/[^ ]*'); do
		mkdir -p "$1${file%/*}"
		cp "$file" "$1$file"
	done
	printf '#!/bin/sh\necho "$@" >>/systemctl\n' >"$1/bin/systemctl"
	chmod 755 "$1/bin/systemctl"
}

# package_lives DEB installs a package into a fresh root, starts it, answers a question, upgrades, removes and purges it.
package_lives() {
	local fresh=$dir/fresh data=$dir/fresh/var/lib/interlude settings_file=$dir/fresh/etc/interlude/environment began
	fresh "$fresh"
	debian() {
		dpkg --root="$fresh" --log="$dir/dpkg.log" --force-confold "$@" >"$dir/log" 2>&1 </dev/null ||
			{ cat "$dir/log" >&2; fail "dpkg $*"; }
	}
	installed=("${sealed[@]}" "$fresh" /usr/bin/interlude)
	mkdir -p "$data" # systemd does this
	chown 65532:65532 "$data"
	began=$(date +%s%N)
	debian -i "$1"
	started deb "${installed[@]}"
	"${installed[@]}" reply -db .interlude/runs.db -as ada hello 3 >/dev/null || fail "the package's program does not answer"

	dpkg-deb -R "$1" "$dir/next"
	sed -i "s/^Version: .*/Version: $plain+1/" "$dir/next/DEBIAN/control"
	dpkg-deb --root-owner-group -Zgzip -z1 -b "$dir/next" "$dir/next.deb" >/dev/null
	echo "# mine" >>"$settings_file"
	debian -i "$dir/next.deb"
	[ "$(dpkg-query --admindir="$fresh/var/lib/dpkg" -W -f '${Version}' interlude)" = "$plain+1" ] || fail "no upgrade"
	grep -qx "# mine" "$settings_file" || fail "an upgrade loses the settings"
	[ "$(grep -c '^try-restart interlude.service$' "$fresh/systemctl")" = 2 ] || fail "an upgrade does not restart the service"
	! grep -q disable "$fresh/systemctl" || fail "an upgrade ends the service"
	began=$(date +%s%N) question='May I write it into a file' started upgraded "${installed[@]}"

	debian -r interlude
	[ "$(tail -n 2 "$fresh/systemctl")" = "$(printf 'disable --now interlude.service\ndaemon-reload')" ] || fail "a removal does not end the service"
	[ ! -e "$fresh/usr/bin/interlude" ] && [ -s "$data/.interlude/runs.db" ] && [ -s "$settings_file" ] || fail "a removal keeps the program, or loses runs or settings"
	debian -P interlude
	[ ! -e "$settings_file" ] && [ -s "$data/.interlude/runs.db" ] || fail "a purge keeps settings or loses runs"
	grep -q "the runs are kept in /var/lib/interlude" "$dir/log" || fail "a purge does not say where the runs are"
}

# image_from_dockerfile FOLDER builds the image into an OCI layout, and starts the program as the layout configures
# it.
image_from_dockerfile() {
	local container mounted settings
	images() { buildah --storage-driver vfs --root "$dir/storage" --runroot "$dir/run" "$@"; }
	images bud --isolation chroot -f packaging/Dockerfile -t "oci:$dir/oci:latest" "$1" >"$dir/log" 2>&1 ||
		{ cat "$dir/log" >&2; fail "buildah cannot build the image"; }
	container=$(cd "$dir" && images from -q oci:oci:latest 2>"$dir/log") # by a path in lower case
	[ "$(images inspect --format '{{with .OCIv1.Config}}{{.User}} {{.WorkingDir}} {{.Entrypoint}} {{.Cmd}}{{end}}' "$container")" = \
		"65532:65532 /var/lib/interlude [/usr/bin/interlude] [serve]" ] || fail "the image starts something else"
	mapfile -t settings < <(images inspect --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$container" | grep .)
	mounted=$(images mount "$container")
	diff <(cd "$mounted" && find . -type f | sort) <(cd "$1" && { (cd root && find . -type f) && echo ./var/lib/interlude/.keep; } | sort) || fail "the image has other files"
	[ -z "$root" ] || started oci "${sealed[@]}" "$mounted" /usr/bin/interlude
	images rm "$container" >/dev/null
	echo "rehearse: buildah has built the image from packaging/Dockerfile"
}

# windows_starts ZIP runs the program's version command under Wine. Wine is not Windows, so failures are listed but do
# not fail the rehearsal.
windows_starts() {
	local wine=/usr/lib/wine/wine64 said
	[ -x $wine ] && command -v unzip >/dev/null || { untried+=("Windows, because Wine or unzip is missing"); return; }
	mkdir "$dir/windows"
	unzip -q "$1" -d "$dir/windows"
	said=$(WINEPREFIX="$dir/wine" WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml= timeout 300 $wine "$dir"/windows/*/interlude.exe version | tr -d '\r') || true
	[ "$said" = "interlude $version" ] || untried+=("Windows, because Wine does not start the program")
}

# debian_installs DEB installs the package with apt in a fresh Debian root, as users do.
debian_installs() {
	local debian=$dir/debian began
	debootstrap --variant=minbase bookworm "$debian" >"$dir/log" 2>&1 || { tail -n 3 "$dir/log"; untried+=("a fresh Debian, because debootstrap fails"); return; }
	cp "$1" "$debian/tmp/interlude.deb"
	began=$(date +%s%N)
	chroot "$debian" apt-get install -qy --no-install-recommends /tmp/interlude.deb >"$dir/log" 2>&1 || { cat "$dir/log" >&2; fail "apt"; }
	mkdir -p "$debian/var/lib/interlude" # systemd does this
	chown 65532:65532 "$debian/var/lib/interlude"
	started fresh-debian "${sealed[@]}" "$debian" /usr/bin/interlude
}
