package page_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	screens = flag.String("screens", "", "write pictures of the page into this `folder`")
	paint   = flag.Bool("paint", false, "print how fast a full inbox is shown and scrolled")
)

// patience is how long something that a person waits for may take, on a machine with much else to
// do.
const patience = 20 * time.Second

// browser is the one Chromium of all tests; nil if not installed.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withBrowser(m.Run))
}

func withBrowser(run func() int) int {
	program := program()
	if program == "" {
		return run()
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.Flag("lang", "en-GB"), chromedp.Flag("disable-gpu", true), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("process-per-site", true)) // a process for each tab takes longer than most tests
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	// The first tab stays at a page of the tests' site: the process of a site ends with its last tab, and
	// starting another one for each test takes a tenth of the browser's time.
	first := httptest.NewServer(http.NotFoundHandler())
	defer first.Close()
	if _, err := chromedp.Run(ctx, chromedp.Navigate(first.URL)); err != nil {
		fmt.Fprintln(os.Stderr, "page:", program, "does not start:", err)
		return 1
	}
	browser = ctx //nolint:fatcontext // there is one
	return run()
}

// program is the browser's program; .ci/chromium.sh looks in the same places. The headless shell is
// Chromium without its windows, which take two thirds of the time; .ci/search names the whole one.
func program() string {
	if named := os.Getenv("INTERLUDE_CHROMIUM"); named != "" {
		return named
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// need ends a test that cannot be run, outside of CI.
func need(t *testing.T, there bool, what string) {
	t.Helper()
	if there {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing: .ci/chromium.sh installs it", what)
	}
	t.Skipf("%s is missing: .ci/chromium.sh installs it", what)
}

// window is a tab of the browser, before which a person sits.
type window struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string // guarded by mu
}

// open opens the page for a person, at a place such as #/inbox/run/1.
func (w *world) open(person, place string) *window {
	w.t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	w.t.Cleanup(func() { o := window{t: w.t}; o.within("the tab is closed", cancel) })
	o := &window{t: w.t, ctx: ctx}
	var err error
	address := w.url()
	o.within("a tab is opened", func() {
		err = chromedp.Listen(ctx, func(event any) { o.watch(event, address) })
	})
	require.NoError(w.t, err)
	w.fresh.Do(func() { // an earlier world may have had this port, and settings
		call(o, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: address, StorageTypes: "all"})
	})
	call(o, network.Enable, network.EnableParams{})
	call(o, cdplog.Enable, cdp.Empty{})
	call(o, runtime.Enable, cdp.Empty{})
	call(o, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"X-User": person}})
	call(o, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(
		`try { localStorage["interlude-settings /desk/"] ??= JSON.stringify({ undo: %d }); } catch {}`, w.undo)})
	if w.streams {
		call(o, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			const { setTimeout: timer } = window
			window.setTimeout = (call, after, ...rest) => after >= 1000 ? 0 : timer(call, after, ...rest)`})
	}
	o.desk()
	o.do(chromedp.Navigate(w.url() + "/desk/" + place))
	w.t.Cleanup(func() { // before the tab is closed
		o.mu.Lock()
		defer o.mu.Unlock()
		assert.Empty(w.t, o.faults, "the page has faults, or asks another host")
	})
	return o
}

// within fails the test if an action without a deadline hangs.
func (o *window) within(what string, do func()) {
	o.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(2 * patience):
		require.FailNow(o.t, "the browser hangs", what)
	}
}

// watch records forbidden events of a page: errors, violations of its policy, requests to another
// host.
func (o *window) watch(event any, address string) {
	fault := ""
	switch ev := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = ev.ExceptionDetails.Text
		if ev.ExceptionDetails.Exception != nil {
			fault += " " + ev.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" {
			args, _ := json.Marshal(ev.Args)
			fault = string(args)
		}
	case *cdplog.EventEntryAdded:
		if ev.Entry.Source == "security" || strings.Contains(ev.Entry.Text, "Content Security") {
			fault = ev.Entry.Text
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(ev.Request.URL, address) && !strings.HasPrefix(ev.Request.URL, "data:") {
			fault = "a request to " + ev.Request.URL
		}
	}
	if fault != "" {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.faults = append(o.faults, fault)
	}
}

// call makes a call of the browser's protocol.
func call[P, R any](o *window, command cdp.Command[P, R], params P) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, command, params)
	require.NoError(o.t, err)
}

func (o *window) do(action chromedp.Action[chromedp.Void]) {
	o.t.Helper()
	_ = result(o, action)
}

func result[T any](o *window, action chromedp.Action[T]) T {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.ctx, 2*patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	require.NoError(o.t, err)
	return value
}

// js evaluates an expression in the page, to its value as JSON.
func js[T any](o *window, expression string) T {
	o.t.Helper()
	return result(o, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// run executes statements in the page. It waits for elements as until does, so an element must not be
// missing after a statement that must not be repeated.
func (o *window) run(statements string) {
	o.t.Helper()
	o.until("(() => {" + statements + "; return true; })()")
}

// until waits until an expression is true. It is false while it uses an element that the page does not
// have yet (a property of null). It does not use chromedp.Poll, which the page's policy forbids as eval.
func (o *window) until(expression string) {
	o.t.Helper()
	if js[bool](o, fmt.Sprintf(`(async () => {
		for (const end = Date.now() + %d; Date.now() < end; await new Promise((r) => setTimeout(r, 20))) {
			try {
				if (%s) return true;
			} catch (e) {
				if (!(e instanceof TypeError && e.message.includes("of null"))) throw e;
			}
		}
		return false;
	})()`, patience.Milliseconds(), expression)) {
		return
	}
	require.FailNow(o.t, "the page never came to it", "%s\n\n%s", expression,
		js[string](o, "document.activeElement.outerHTML.slice(0, 300) + '\\n' + document.body.innerText"))
}

// strike presses a key as a keyboard does: the text is written unless the page prevents it.
// chromedp.KeyEvent always writes it.
func (o *window) strike(key, code, text string) {
	o.t.Helper()
	call(o, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key,
		Code: code, Text: text})
}

func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// sees waits until a text is shown.
func (o *window) sees(text string) {
	o.t.Helper()
	o.until(fmt.Sprintf("document.body.innerText.includes(%s)", quote(text)))
}

// seesNot waits until a text is not shown.
func (o *window) seesNot(text string) {
	o.t.Helper()
	o.until(fmt.Sprintf("!document.body.innerText.includes(%s)", quote(text)))
}

// named is an expression for the visible control with this text or label.
func named(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("button, a, summary, label, input, textarea, select")]
		.find((e) => e.checkVisibility() && [e.innerText, e.getAttribute("aria-label"), e.labels?.[0]?.innerText]
			.some((n) => n?.trim() === %s))`, quote(name))
}

// press presses the element with this text.
func (o *window) press(name string) {
	o.t.Helper()
	o.with(named(name), "e.click()")
}

// with waits until an expression finds an element, and acts on it, as e, at the same moment: the
// page may redraw the element in the next one.
func (o *window) with(element, action string) {
	o.t.Helper()
	o.until(fmt.Sprintf("((e) => e !== undefined && (%s, true))(%s)", action, element))
}

// write writes into the field with this label, key by key, replacing its content.
func (o *window) write(label, text string) {
	o.t.Helper()
	field := fmt.Sprintf(`[...document.querySelectorAll("input, textarea")].find((e) => e.checkVisibility()
		&& [e.ariaLabel, ...[...e.labels].map((l) => (l.firstElementChild ?? l).innerText.trim())].includes(%s))`,
		quote(label))
	o.with(field, "e.focus(), e.select()")
	o.do(chromedp.KeyEvent(text))
}

// at waits until the page is at a place.
func (o *window) at(place string) {
	o.t.Helper()
	o.until("location.hash === " + quote(place))
}

func (o *window) reload() {
	o.t.Helper()
	o.do(chromedp.Reload())
}

// picture writes a picture of the window, if the flag asks for it.
func (o *window) picture(name string) {
	o.t.Helper()
	if *screens == "" {
		return
	}
	png := result(o, chromedp.CaptureScreenshot())
	require.NoError(o.t, os.WriteFile(filepath.Join(*screens, name+".png"), png, 0o600))
}

// pictures writes pictures in light and in the dark: of a desk, a tablet and a phone.
func (o *window) pictures(name string) {
	o.t.Helper()
	if *screens == "" {
		return
	}
	for _, scheme := range []string{"dark", "light"} {
		o.scheme(scheme)
		o.phone()
		o.picture(name + "-phone-" + scheme)
		o.size(768, 1024, 1, false)
		o.picture(name + "-tablet-" + scheme)
		o.desk()
		o.picture(name + "-" + scheme)
	}
}

func (o *window) scheme(name string) {
	o.t.Helper()
	call(o, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}

// desk and phone are the sizes of a window.
func (o *window) desk() { o.size(1280, 860, 1, false) }

func (o *window) phone() { o.size(390, 844, 2, true) }

func (o *window) size(width, height int64, scale float64, mobile bool) {
	o.t.Helper()
	call(o, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
		DeviceScaleFactor: scale, Mobile: mobile})
}

// accessibleInBoth checks accessible in the light scheme, and only the rules about colours in the
// dark scheme.
func (o *window) accessibleInBoth(what string) {
	o.t.Helper()
	o.scheme("dark")
	o.check(what+" in the dark", `, runOnly: ["color-contrast", "link-in-text-block"]`)
	o.scheme("light")
	o.accessible(what)
}

// accessible has axe-core look at the window.
func (o *window) accessible(what string) {
	o.t.Helper()
	o.check(what, "")
}

// check is accessible with the given options of axe.run.
func (o *window) check(what, options string) {
	o.t.Helper()
	if !js[bool](o, "window.axe !== undefined") {
		axe, err := os.ReadFile("../../.tools/axe/node_modules/axe-core/axe.min.js")
		need(o.t, err == nil, "axe-core")
		o.run(string(axe))
	}
	o.until(`document.querySelector("button[aria-busy=true]") === null`) // busy buttons are pale
	found := js[[]string](o, `axe.run(document, { resultTypes: ["violations"]`+options+` }).then((r) =>
		r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`)
	assert.Empty(o.t, found, what)
}
