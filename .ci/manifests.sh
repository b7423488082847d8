#!/usr/bin/env bash
# Validates files that only other systems read, using those systems' own code: workflows (actionlint), compose.yaml
# (Compose's loader), and the Kubernetes manifests (kubectl-validate, which includes the schemas of several releases).
#
#   .ci/manifests.sh           all
#   .ci/manifests.sh quick     without Kubernetes, whose tool takes minutes to compile
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "manifests: $*" >&2; exit 1; }
tools=$PWD/.tools
# tool NAME MODULE@VERSION installs a pinned tool once; the executable is named after its package.
tool() {
	local built=${2%@*}
	[ -x "$tools/$1" ] && [ -e "$tools/$1.${2##*@}" ] && return
	GOBIN=$tools/$1.bin GOWORK=off GOFLAGS="-trimpath -mod=mod" go install "$2" || fail "$1 cannot be installed"
	mv "$tools/$1.bin/${built##*/}" "$tools/$1"
	rmdir "$tools/$1.bin"
	touch "$tools/$1.${2##*@}"
}
mkdir -p .tools
tool actionlint github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
tool compose github.com/compose-spec/compose-go/v2/cmd@v2.10.2
"$tools/actionlint" -shellcheck= -pyflakes= .github/workflows/*.yml || fail "a workflow"
# The loader runs without interpolation, so variables stay as written; a test of cmd/interlude replaces them.
"$tools/compose" -no-interpolation packaging/compose.yaml >/dev/null || fail "compose.yaml"
[ "${1:-}" != quick ] || exit 0
tool kubectl-validate sigs.k8s.io/kubectl-validate@v0.0.4
for release in 1.27 1.30; do
	"$tools/kubectl-validate" --version $release packaging/kubernetes/*.yaml || fail "the manifests, for Kubernetes $release"
done
