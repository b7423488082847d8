// Package page tests the page of host/web as a person uses it: in Chromium, over real sockets, with
// a lifecycle that executes runs. Each test only does what a person could do: press, type, reload,
// pull the plug.
//
// .ci/chromium.sh installs the required programs: Chromium and axe-core. Without them the tests are
// not run, but in CI they fail.
//
//	go test ./page -screens DIR     also writes pictures of the page
//	go test ./page -paint           measures how fast a full inbox is shown and scrolled
package page
