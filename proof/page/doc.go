// Package page has tests of the page of host/web as a person meets it: in Chromium, over real
// sockets, with a lifecycle that executes runs behind it. What a test does, a person could do:
// press, type, reload, pull the plug.
//
// .ci/chromium.sh installs what the tests need: Chromium and axe-core. Without them the tests are
// not run, but in CI they fail.
//
//	go test ./page -screens DIR     also writes pictures of what the tests see
//	go test ./page -paint           prints how fast a full inbox is shown and scrolled
package page
