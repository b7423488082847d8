package page_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	screens = flag.String("screens", "", "write pictures of the page into this `folder`")
	paint   = flag.Bool("paint", false, "print how fast a full inbox is shown")
)

// patience is how long something that a person waits for may take, on a machine with much else to do.
const patience = 20 * time.Second

// browser is the one Chromium of all tests; nil where there is none.
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
		chromedp.Flag("disable-background-timer-throttling", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "page:", program, "does not start:", err)
		return 1
	}
	browser = ctx
	return run()
}

// program is the browser's program; .ci/chromium.sh looks in the same places.
func program() string {
	if named := os.Getenv("INTERLUDE_CHROMIUM"); named != "" {
		return named
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
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
	w.t.Cleanup(cancel)
	o := &window{t: w.t, ctx: ctx}
	address := w.url()
	chromedp.ListenTarget(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			o.fault("exception: %s", ev.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if ev.Type == runtime.APITypeError {
				args, _ := json.Marshal(ev.Args)
				o.fault("console: %s", args)
			}
		case *cdplog.EventEntryAdded:
			if ev.Entry.Source == cdplog.SourceSecurity || strings.Contains(ev.Entry.Text, "Content Security") {
				o.fault("security: %s", ev.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, address) {
				o.fault("a request to elsewhere: %s", ev.Request.URL)
			}
		}
	})
	headers := network.Headers{"X-User": person}
	require.NoError(w.t, chromedp.Run(ctx, network.Enable(), cdplog.Enable(), network.SetExtraHTTPHeaders(headers),
		emulation.SetDeviceMetricsOverride(1280, 860, 1, false), chromedp.Navigate(address+"/desk/"+place)))
	w.t.Cleanup(func() { // before the tab is closed
		o.mu.Lock()
		defer o.mu.Unlock()
		assert.Empty(w.t, o.faults, "the page has faults, or asks another host")
	})
	return o
}

func (o *window) fault(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults = append(o.faults, fmt.Sprintf(format, args...))
}

func (o *window) do(actions ...chromedp.Action) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.ctx, 2*patience)
	defer cancel()
	require.NoError(o.t, chromedp.Run(ctx, actions...))
}

// js evaluates an expression in the page.
func (o *window) js(expression string, into any) {
	o.t.Helper()
	o.do(chromedp.Evaluate(expression, into, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
}

// until waits until an expression is true. It does not use chromedp.Poll, which the page's policy forbids as eval.
func (o *window) until(expression string) {
	o.t.Helper()
	var ok bool
	o.js(fmt.Sprintf(`(async () => {
		for (const end = Date.now() + %d; Date.now() < end; await new Promise((r) => setTimeout(r, 20))) {
			if (%s) return true;
		}
		return false;
	})()`, patience.Milliseconds(), expression), &ok)
	if !ok {
		var text string
		o.js("document.activeElement.outerHTML.slice(0, 300) + '\\n' + document.body.innerText", &text)
		require.FailNow(o.t, "the page never came to it", "%s\n\n%s", expression, text)
	}
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

// press presses what has this text.
func (o *window) press(name string) {
	o.t.Helper()
	o.until(named(name) + " !== undefined")
	o.js(named(name)+".click()", nil)
}

// write writes into the field with this label, key by key, in place of what is there.
func (o *window) write(label, text string) {
	o.t.Helper()
	field := fmt.Sprintf(`[...document.querySelectorAll("input, textarea")].find((e) => e.checkVisibility()
		&& [...e.labels].some((l) => (l.firstElementChild ?? l).innerText.trim() === %s))`, quote(label))
	o.until(field + " !== undefined")
	o.js(field+".focus(), "+field+".select()", nil)
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
	var png []byte
	o.do(chromedp.CaptureScreenshot(&png))
	require.NoError(o.t, os.WriteFile(filepath.Join(*screens, name+".png"), png, 0o600))
}

// pictures writes pictures in light, in the dark, and on a phone.
func (o *window) pictures(name string) {
	o.t.Helper()
	if *screens == "" {
		return
	}
	o.picture(name + "-light")
	o.scheme("dark")
	o.picture(name + "-dark")
	o.scheme("light")
	o.phone()
	o.picture(name + "-phone")
	o.do(emulation.SetDeviceMetricsOverride(1280, 860, 1, false))
}

func (o *window) scheme(name string) {
	o.t.Helper()
	o.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}))
}

func (o *window) phone() {
	o.t.Helper()
	o.do(emulation.SetDeviceMetricsOverride(390, 844, 2, true))
}

// accessible has axe-core look at the window.
func (o *window) accessible(what string) {
	o.t.Helper()
	axe, err := os.ReadFile("../../.tools/axe/node_modules/axe-core/axe.min.js")
	need(o.t, err == nil, "axe-core")
	var found []string
	o.js(string(axe)+"; undefined", nil)
	o.js(`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.flatMap((v) => v.nodes.map((n) =>
		v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`, &found)
	assert.Empty(o.t, found, what)
}

// beforeLoad evaluates a script in each document that the window loads from now on, before its own.
func (o *window) beforeLoad(script string) {
	o.t.Helper()
	o.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}
