package page_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// L1: a link to a run that was removed or never was says so, and so does a question that is open
// in the page when its run is removed.
func TestL1ALinkThatLeadsNowhereSaysSo(t *testing.T) {
	w := openWorld(t)
	const nothing = "This does not exist, or no longer exists."
	ada := w.open("ada", "#/inbox/unknown/1")
	ada.sees(nothing)
	ada.run(`location.hash = "#/runs/unknown"`)
	ada.sees(nothing)
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Ship?"))
	ada.run(`location.hash = "#/inbox/r/9"`)
	ada.sees(nothing)
	ada.run(`location.hash = "#/inbox/r/1"`)
	ada.sees("Ship?")
	err := w.lc.Cancel(t.Context(), "r", "no more")
	require.NoError(t, err)
	ada.sees("Closed: the run has ended")
}

// L1: a sleeping run says until when; a held one why, once; lists have titles; and the nodes are
// listed.
func TestL1AnOperatorSeesUntilWhenWhyAndWhere(t *testing.T) {
	w := openWorld(t)
	w.ends = map[string]func() (engine.Outcome, error){
		"sleeps": func() (engine.Outcome, error) {
			return engine.SleepUntil(time.Date(2097, 3, 4, 5, 6, 0, 0, time.UTC)), nil
		},
		"held": func() (engine.Outcome, error) {
			return engine.Outcome{}, engine.Hold("", "the price list is missing")
		},
		"later": func() (engine.Outcome, error) {
			return engine.Outcome{}, engine.Later(time.Hour, "too many calls")
		},
	}
	for id := range w.ends {
		_, err := w.lc.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "Do it.", Title: "The run that is " + id})
		require.NoError(t, err)
	}
	w.ask(lifecycle.Spec{ID: "asks", Title: "Lamps for order 7"}, confirm("Which lamps?"))
	ada := w.open("ada", "#/runs")
	ada.sees("The run that is sleeps")
	ada.sees("Lamps for order 7")
	ada.until(`/Sleeps until .*2097.* (UTC|GMT|[A-Z]{3,4})/.test(document.body.innerText)`)
	ada.sees("Held: the price list is missing")
	ada.until(`/Retry at .* after a failure: too many calls/.test(document.body.innerText)`)
	ada.until(`/asked (just now|.* ago)/.test(document.querySelector('[data-key="asks"]').innerText)`)
	ada.pictures("runs")
	ada.accessible("the list of runs")
	ada.run(`location.hash = "#/inbox"`)
	ada.sees("Lamps for order 7")
	ada.run(`location.hash = "#/system"`)
	ada.sees("lease ends")
	ada.until(`/waits for people\s+oldest (just now|.* ago)/.test(document.querySelector(".figures").innerText)`)
	ada.pictures("nodes")
	ada.accessible("nodes")
}

// K7: a question is due when its wait ends, not at a reminder before.
func TestK7AReminderIsNotWhenAQuestionIsDue(t *testing.T) {
	w := openWorld(t)
	q := confirm("Close the shop?")
	q.Wait = &lifecycle.Wait{End: 30 * 24 * time.Hour, Then: lifecycle.ThenFail,
		Steps: []lifecycle.WaitStep{{After: 20 * time.Minute, Do: lifecycle.Remind}}}
	w.ask(lifecycle.Spec{ID: "r"}, q)
	q = confirm("Endless?")
	q.Wait = &lifecycle.Wait{Steps: []lifecycle.WaitStep{{After: 20 * time.Minute, Do: lifecycle.Remind}}}
	w.ask(lifecycle.Spec{ID: "s"}, q)
	ada := w.open("ada", "")
	row := func(key string) string { return `document.querySelector('a.row[data-key="` + key + `"]')?.innerText` }
	ada.until(`/in 29 days 23 h/.test(` + row("r/1") + `)`)
	ada.until(`/just now| ago/.test(` + row("s/1") + `)`)
	ada.seesNot("Within the hour")
}

// K7: one day more is the same time of the next day, also when the clocks change; and a time on
// another day has its year and its zone.
func TestK7ADayMoreIsADayOfTheCalendar(t *testing.T) {
	helsinki, err := time.LoadLocation("Europe/Helsinki")
	require.NoError(t, err)
	now := time.Now().In(helsinki)
	end := time.Date(now.Year(), now.Month(), now.Day()+2, 12, 0, 0, 0, helsinki)
	for end.AddDate(0, 0, 1).Sub(end) == 24*time.Hour {
		end = end.AddDate(0, 0, 1)
	}
	w := openWorld(t)
	q := confirm("Close the shop?")
	q.Wait = &lifecycle.Wait{End: time.Hour, Then: lifecycle.ThenFail}
	w.ask(lifecycle.Spec{ID: "r"}, q)
	require.NoError(t, w.lc.Extend(t.Context(), "r", 1, end))
	ada := w.open("ada", "")
	call(ada, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Helsinki"})
	ada.reload()
	ada.run(`location.hash = "#/inbox/r/1"`)
	_, offset := end.Zone()
	ada.until(fmt.Sprintf(`/ %d, 12:00.* (GMT[+]%d|EES?T)/.test(document.querySelector(".facts")?.innerText)`, end.Year(),
		offset/3600))
	ada.press("Extend by one day")
	ada.sees("Extended.")
	run, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	_, at := run.EndOf(&run.Open[0])
	require.WithinDuration(t, end.AddDate(0, 0, 1), at, 0)
}

// L1: a time that has passed has no empty parts, and the picture of a run draws a moment narrower
// than a minute.
func TestL1TimesAndTheirPictureAreInProportion(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Ship?"))
	ada := w.open("ada", "#/runs/r")
	ada.sees("Ship?")
	for seconds, want := range map[int]string{185: "3 min ago", 61: "1 min ago", 3605: "1 h ago",
		86400*2 + 5: "2 days ago"} {
		require.Equal(t, want, js[string](ada, fmt.Sprintf(`(async () => (await import("./time.js")).ago(
			new Date(Date.now() - %d * 1000).toISOString()))()`, seconds)))
	}
	widths := js[[]float64](ada, `(async () => {
		const { Timeline } = await import("./timeline.js");
		const node = document.createElement("div");
		const change = (ts, from, to) => ({ type: "conversation.state.changed", ts, data: { from, to }, meta: {} });
		const end = "2026-01-03T00:01:00.001Z";
		const timeline = new Timeline(node, () => ({ shown: 0, all: 0 }));
		timeline.draw([{ type: "conversation.started", ts: "2026-01-01T00:00:00.000Z", data: {} },
			change("2026-01-01T00:00:00.001Z", "queued", "running"),
			change("2026-01-01T00:01:00.001Z", "running", "waiting_user"),
			change(end, "waiting_user", "succeeded")], { finished_at: end });
		return [...node.querySelectorAll(".phase")].map((p) => p.width.baseVal.value).concat(
			node.querySelector("svg").viewBox.baseVal.width);
	})()`)
	require.Len(t, widths, 4)
	require.InDelta(t, 3, widths[0], 0.5, "a millisecond")
	require.Greater(t, widths[1], 10*widths[0], "a minute")
	require.Greater(t, widths[2], 1.5*widths[1], "two days")
	require.InDelta(t, widths[3], widths[0]+widths[1]+widths[2], 0.5)
}

// N7: the timeline is to scale unless a wait would hide the work; then it is cut, and time and place
// still match. A brush selects a range by pointer and by keys, and the history shows only that range.
func TestN7TheTimelineIsToScaleWithABrush(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Ship?"))
	ada := w.open("ada", "#/runs/r")
	ada.sees("Ship?")
	ada.run(`window.laid = async (...lengths) => {
		const timeline = await import("./timeline.js");
		let at = 1000;
		const states = lengths.map(([state, seconds]) => ({ state, from: at, to: at += seconds * 1000 }));
		const limit = timeline.layOut(states, 600);
		const same = states.every((p) => [0, 0.25, 0.9].every((part) => {
			const time = p.from + part * (p.to - p.from);
			return Math.abs(timeline.timeAt(states, timeline.placeOf(states, time)) - time) <= 1e-6 * (p.to - p.from);
		}));
		return [limit === Infinity ? 0 : limit / 1000, Number(same), ...states.map((p) => Math.round(p.w))];
	}`)
	for _, c := range []struct {
		phases string
		want   []float64 // the length above which waits are cut, whether time and place match, and the widths
	}{
		{`["queued", 10], ["running", 20], ["waiting_user", 30]`, []float64{0, 1, 101, 200, 300}},
		{`["running", 5], ["waiting_user", 1209600], ["running", 20], ["waiting_user", 180], ["running", 10]`,
			[]float64{60, 1, 22, 231, 81, 231, 42}},
		{`["running", 1], ["running", 7200]`, []float64{0, 1, 3, 597}},
		{`["queued", 900000]`, []float64{0, 1, 600}},
		{`["queued", 0], ["running", 0]`, []float64{0, 1, 3, 3}},
	} {
		got := js[[]float64](ada, `window.laid(`+c.phases+`)`)
		require.InDeltaSlice(t, c.want, got, 6, c.phases)
		require.Equal(t, c.want[:2], got[:2], c.phases)
	}
	require.Equal(t, []bool{true, true, false, true, false}, js[[]bool](ada, `import("./timeline.js").then(({ within }) =>
		[within({ from: null, until: null }, 1), within({ from: 5, until: null }, 1, 9),
			within({ from: 5, until: null }, 4), within({ from: 5, until: 6 }, 5, 5), within({ from: null, until: 6 }, 7, 8)])`))

	// A run that waited two weeks between seconds of work, as its page shows it.
	ada.until(`document.querySelector(".timeline") !== null`)
	require.True(t, js[bool](ada, `(async () => {
		const { Timeline, within } = await import("./timeline.js");
		const node = document.createElement("section"); // the page still redraws its own
		node.className = "timeline";
		document.querySelector(".timeline").replaceWith(node);
		const times = ["2026-01-01T08:00:00Z", "2026-01-01T08:00:01Z", "2026-01-01T08:00:06Z", "2026-01-15T08:00:06Z",
			"2026-01-15T08:00:07Z", "2026-01-15T08:00:27Z"];
		const change = (i, from, to) => ({ type: "conversation.state.changed", ts: times[i], data: { from, to },
			meta: { attempt: i > 2 ? 2 : 1 } });
		window.timeline = new Timeline(node, (range) => ({ all: times.length,
			shown: times.filter((at) => within(range, Date.parse(at))).length }));
		timeline.draw([{ type: "conversation.started", ts: times[0], data: {} }, change(1, "queued", "running"),
			change(2, "running", "waiting_user"), change(3, "waiting_user", "queued"), change(4, "queued", "running"),
			change(5, "running", "succeeded")], { finished_at: times[5] });
		return true;
	})()`))
	ada.sees("to scale; waits longer than 1 min are cut (//)")
	ada.until(`document.querySelectorAll(".timeline .cut").length === 1`)
	drag := func(from, to float64) {
		t.Helper()
		ada.run(fmt.Sprintf(`{
			const box = document.querySelector(".timeline svg").getBoundingClientRect();
			const at = (type, part) => document.querySelector(".timeline svg").dispatchEvent(new PointerEvent(type, {
				bubbles: true, pointerId: 1, clientX: box.left + part * box.width, clientY: box.top + 5 }));
			SVGElement.prototype.setPointerCapture = () => {};
			at("pointerdown", %[1]g), at("pointermove", %[2]g), at("pointerup", %[2]g);
		}`, from, to))
	}
	drag(0.9, 0.3)
	ada.sees("2 of 6 entries of the history, from ")
	ada.pictures("timeline")
	ada.accessibleInBoth("a timeline")
	drag(0.5, 0.5)
	ada.sees("Drag in the picture")
	ada.with(`document.querySelector(".brush input") ?? undefined`, "e.focus()")
	ada.do(chromedp.KeyEvent(kb.End))
	ada.sees("1 of 6 entries of the history")
	ada.press("Whole time")
	ada.sees("Drag in the picture")
	ada.until(`document.activeElement === document.querySelector(".brush input")`)

	// The page of a run: the history follows the range.
	ada.reload()
	ada.sees("I have read what there is about r.")
	all := js[int](ada, `document.querySelectorAll(".story .entry").length`)
	ada.with(`document.querySelector(".brush input") ?? undefined`, "e.focus()")
	ada.do(chromedp.KeyEvent(kb.End))
	ada.until(fmt.Sprintf(`document.querySelectorAll(".story .entry").length < %d`, all))
	ada.press("Whole time")
	ada.until(fmt.Sprintf(`document.querySelectorAll(".story .entry").length === %d`, all))
}

// L1: who is not asked is not offered to ask others, nor who is kept from it by another's claim.
func TestL1OnlyWhoIsAskedIsOfferedToAskOthers(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r", Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{"finance"}}}},
		openText("How do we book this?"))
	const offered = `[...document.querySelectorAll("summary")].some((s) => s.innerText === "Reassign")`
	ada, eve := w.open("ada", "#/inbox/r/1"), w.open("eve", "#/inbox/r/1")
	eve.sees("This question is not for you.")
	eve.until("!" + offered)
	ada.until(offered)
	bob := w.open("bob", "#/inbox/r/1")
	bob.press("Claim for 15 minutes")
	ada.sees("bob has claimed this question.")
	ada.until("!" + offered)
	bob.until(offered)
}

// L1: a browser has six connections for one server, and each window needs two of them for its
// streams. With more windows than that, each still shows current events, and sends decisions.
func TestL1ManyWindowsStayCurrent(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, openText("How do we book this?"))
	windows := make([]*window, 7)
	for i := range windows {
		windows[i] = w.open(fmt.Sprint("ada", i), "#/inbox/r/1")
	}
	for _, o := range windows {
		o.sees("How do we book this?")
	}
	windows[0].press("Claim for 15 minutes")
	for _, o := range windows[1:] {
		o.sees("ada0 has claimed this question.")
	}
	windows[0].write("Your answer", "by train")
	windows[0].press("Send answer")
	for _, o := range windows {
		o.sees("by train")
	}
}

// L1: a person who may not answer reads the reason, and the current claimant or audience.
func TestL1WhyNotFollowsTheQuestion(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r", Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{"finance"}}}},
		openText("How do we book this?"))
	eve := w.open("eve", "#/inbox/r/1")
	const why = `document.querySelector(".controls")?.innerText ?? ""`
	eve.until(`/not for you.*finance/.test(` + why + `)`)
	run, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	asked := run.Open[0].To
	require.NoError(t, w.lc.Reassign(t.Context(), "r", 1, asked, lifecycle.Audience{Users: []string{"carl"}}))
	eve.until(`/not for you.*carl/.test(` + why + `)`)
}

// L3: a list that was read before a change, and arrives after it, does not undo it.
func TestL3AnOlderListUndoesNoChange(t *testing.T) {
	var hold, later atomic.Bool
	held, release, again := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w := openWorld(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			list := r.URL.Path == "/desk/api/inbox"
			if list && later.CompareAndSwap(true, false) {
				close(again)
			}
			if !list || !hold.CompareAndSwap(true, false) {
				next.ServeHTTP(rw, r)
				return
			}
			old := httptest.NewRecorder()
			next.ServeHTTP(old, r)
			close(held)
			<-release
			maps.Copy(rw.Header(), old.Header())
			rw.WriteHeader(old.Code)
			_, _ = rw.Write(old.Body.Bytes())
		})
	})
	w.ask(lifecycle.Spec{ID: "r"}, openText("How do we book this?"))
	w.ask(lifecycle.Spec{ID: "s"}, openText("And this?"))
	w.streams = true
	ada := w.open("ada", "")
	ada.sees("How do we book this?")
	ada.until(`document.body.dataset.connection === "live"`)
	ada.run(`window.undone = false; new MutationObserver(() => {
		const now = document.getElementById("inbox").textContent.includes("with bob");
		undone ||= window.shown && !now; window.shown = now;
	}).observe(document.getElementById("inbox"), { subtree: true, childList: true })`)
	require.NoError(t, w.lc.As(lifecycle.Actor{ID: "eve"}).Claim(t.Context(), "s", 1, w.lc.Now().Add(time.Hour)))
	ada.sees("with eve") // by its stream: from now on changes arrive
	hold.Store(true)
	ada.run(`document.getElementById("retry").click()`)
	<-held
	require.NoError(t, w.lc.As(lifecycle.Actor{ID: "bob"}).Claim(t.Context(), "r", 1, w.lc.Now().Add(time.Hour)))
	ada.sees("with bob")
	later.Store(true)
	close(release)
	select {
	case <-again: // the page has read the older list, and reads once more
	case <-time.After(patience):
		require.Fail(t, "the list was not read again")
	}
	ada.sees("with bob")
	require.False(t, js[bool](ada, "undone"), "the older list was shown")
}

// counted counts the bytes of responses about runs, and the events among them.
type counted struct {
	http.ResponseWriter

	bytes, events *atomic.Int64
}

func (c *counted) Write(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	c.events.Add(int64(bytes.Count(b, []byte("\ndata:"))))
	return c.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// L1: a look at a question reads as much after many questions as after a few: not the run's history.
func TestL1ALookAtAQuestionIsBounded(t *testing.T) {
	var read, events atomic.Int64
	var history atomic.Bool
	w := openWorld(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/desk/api/runs/") {
				rw = &counted{rw, &read, &events}
				history.Store(history.Load() || strings.HasSuffix(r.URL.Path, "/history"))
			}
			next.ServeHTTP(rw, r)
		})
	})
	const rounds = 150
	prompt := strings.Repeat("Is this right? ", 256)
	asked := 0
	w.ends = map[string]func() (engine.Outcome, error){"r": func() (engine.Outcome, error) {
		asked++
		return engine.AskAll(confirm(fmt.Sprint("No. ", asked, ": ", prompt))), nil
	}}
	w.ask(lifecycle.Spec{ID: "r"})
	for ev, err := range w.lc.Events(t.Context(), "r", 0) {
		require.NoError(t, err)
		if ev.Type != lifecycle.TypeInputRequired {
			continue
		}
		run, err := w.lc.Get(t.Context(), "r")
		require.NoError(t, err)
		if run.Interactions == rounds {
			break
		}
		_, err = w.lc.Reply(t.Context(), "r", lifecycle.Reply{ID: run.Interactions, Text: "yes"})
		require.NoError(t, err)
	}
	ada := w.open("ada", fmt.Sprintf("#/inbox/r/%d", rounds))
	ada.sees(fmt.Sprint("No. ", rounds, ": "))
	ada.sees("The full history")
	ada.sees(fmt.Sprint("Question ", rounds-10))
	ada.seesNot(fmt.Sprint("Question ", rounds-11))
	run, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	ada.until(`document.querySelectorAll(".story .entry").length > 10`)
	require.Greater(t, run.Seq, uint64(4*rounds))
	require.LessOrEqual(t, events.Load(), int64(100))
	require.Less(t, read.Load(), int64(rounds*len(prompt)/2))
	require.False(t, history.Load(), "the page reads the whole history")
	ada.run(`[...document.querySelectorAll(".story a")].find((a) => a.innerText === "The full history").click()`)
	ada.sees(fmt.Sprint("No. ", rounds, ": "))
	ada.seesNot("No. 1: ")
	for range 2 { // the page reads the questions before these when it is asked for them
		ada.press("Earlier questions")
		ada.until(`document.querySelector(".story button").getAttribute("aria-busy") === null`)
	}
	ada.sees("No. 1: ")
	ada.seesNot("Earlier questions")
}

// N7: an operator finds runs by text and day; the address keeps the search.
func TestN7AnOperatorFindsRuns(t *testing.T) {
	w := openWorld(t)
	for _, id := range []string{"pay-1", "other", "pay-2"} {
		w.ask(lifecycle.Spec{ID: id}, confirm("Really?"))
	}
	ada := w.open("ada", "#/runs")
	shows := func(want string) {
		t.Helper()
		ada.until(`[...document.querySelectorAll("#runs a.row")].map((a) => a.dataset.key).join() === ` + quote(want))
	}
	shows("pay-2,other,pay-1")
	ada.write("Search in runs", "PAY\r")
	shows("pay-2,pay-1")
	ada.sees("3 runs searched.")
	ada.until(`location.hash === "#/runs?q=PAY"`)
	ada.reload()
	shows("pay-2,pay-1")
	ada.run(`location.hash = "#/runs?from=2000-01-01&until=2000-12-31"`)
	ada.sees("No runs match.")
	ada.until(`document.querySelector("#runs input[type=search]").value === ""`)
	ada.run(`location.hash = "#/runs?q=other&from=2000-01-01&state=waiting_user"`)
	shows("other")
	ada.run(`document.querySelector("#runs a.row").click()`)
	ada.until(`location.hash === "#/runs/other?q=other&from=2000-01-01&state=waiting_user"`)
	ada.pictures("found")
	ada.accessibleInBoth("found runs")
}

// letters is a list of dead letters for web.Options.Notices.
type letters struct {
	mu  sync.Mutex
	all []web.DeadLetter // guarded by mu
}

func (l *letters) DeadLetters(context.Context, int) ([]web.DeadLetter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all), nil
}

func (l *letters) Resend(_ context.Context, endpoint, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(d web.DeadLetter) bool { return d.Endpoint == endpoint && d.ID == id })
	return nil
}

// N7: an operator lists undelivered notices and sends them again.
func TestN7AnOperatorSendsADeadLetterAgain(t *testing.T) {
	w := openWorldOf(t, lifecycle.Config{}, web.Options{Notices: &letters{all: []web.DeadLetter{{Endpoint: "mail",
		ID: "pay-1/3", RunID: "pay-1", Attempts: 5, Died: time.Now().Add(-time.Hour), Reason: "no such host"}}}})
	ada := w.open("ada", "#/system")
	ada.sees("Notices that were not accepted")
	ada.sees("no such host")
	ada.pictures("dead")
	ada.accessibleInBoth("dead letters")
	ada.press("Send again")
	ada.seesNot("Notices that were not accepted")
}

// N7: an operator decides about several held runs at once, sees the code of a failed run, continues
// it in a new one, and saves its events.
func TestN7AnOperatorDecidesAboutSeveralHeldRuns(t *testing.T) {
	w := openWorld(t)
	hold := func() (engine.Outcome, error) {
		return engine.Outcome{}, engine.Hold("", "the price list is missing")
	}
	w.ends = map[string]func() (engine.Outcome, error){"held-1": hold, "held-2": hold, "held-3": hold,
		"broken": func() (engine.Outcome, error) {
			return engine.Outcome{}, &engine.Failure{Code: engine.CodeEngineFailed, Detail: "the disk is full"}
		}}
	for id := range w.ends {
		_, err := w.lc.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "Do it."})
		require.NoError(t, err)
	}
	ada := w.open("ada", "#/runs")
	ada.press("held")
	ada.sees("Decide about 3 held runs")
	ada.press("Decide about 3 held runs")
	ada.with(`[...document.querySelectorAll(".held-runs label")].find((l) => l.innerText.includes("held-2"))`,
		`e.querySelector("input").checked = false`)
	ada.pictures("held")
	ada.accessibleInBoth("held runs")
	ada.press("End these runs")
	ada.sees("2 runs decided.")
	ada.until(`[...document.querySelectorAll("#runs a.row")].map((a) => a.dataset.key).join() === "held-2"`)
	for _, id := range []string{"held-1", "held-3"} {
		run, err := w.lc.Wait(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateFailed, run.State)
	}
	ada.run(`location.hash = "#/runs/broken"`)
	ada.sees("the disk is full")
	ada.until(`document.querySelector(".notice code") !== null`)
	ada.run(`URL.createObjectURL = (blob) => { window.saved = blob.text(); return "data:,"; }`)
	ada.press("Save the events (JSON lines)")
	ada.until(`window.saved !== undefined`)
	run, err := w.lc.Get(t.Context(), "broken")
	require.NoError(t, err)
	require.Equal(t, int(run.Seq), js[int](ada, `window.saved.then((text) => text.trim().split("\n").length)`))
	require.Equal(t, lifecycle.TypeStateChanged, js[string](ada,
		`window.saved.then((text) => JSON.parse(text.trim().split("\n").at(-1)).type)`))
	ada.pictures("failed")
	ada.accessibleInBoth("a failed run")
	ada.press("Try again from here")
	ada.until(`location.hash !== "#/runs/broken"`)
	ada.sees("Fork of")
}

// N7: an operator changes a pool's size and creates a pool; input stays while the figures change;
// who has seen an older size learns the stored one before replacing it.
func TestN7AnOperatorChangesPools(t *testing.T) {
	notEve := func(_ context.Context, a lifecycle.Access) error {
		if a.Action == lifecycle.ActionPool && a.Actor.ID == "eve" {
			return errors.New("operators only")
		}
		return nil
	}
	w := openWorldOf(t, lifecycle.Config{Authorize: notEve, Pools: []lifecycle.Pool{{Name: "gpu", Capacity: 4}}},
		web.Options{})
	ada := w.open("ada", "#/system")
	slots := func(name, text string) {
		t.Helper()
		ada.until(`[...document.querySelectorAll(".pools li")].some((e) => e.innerText.includes(` + quote(name) +
			`) && e.innerText.includes(` + quote(text) + `))`)
	}
	slots("gpu", "0 of 4 slots in use")
	ada.press("Change size of gpu")
	ada.write("Slots", "0")
	ada.press("Save the size")
	ada.sees("Enter a whole number from 1 to 1,000,000.")
	ada.write("Slots", "8")
	was := lifecycle.Pool{Name: "gpu", Capacity: 4}
	now := lifecycle.Pool{Name: "gpu", Capacity: 6, KeyCapacity: 2}
	require.NoError(t, w.lc.SetPool(t.Context(), was, now))
	ada.run(`dispatchEvent(new Event("online"))`) // instead of the next poll
	slots("gpu", "0 of 6 slots in use, at most 2 per key")
	ada.until(`document.activeElement.value === "8"`)
	ada.press("Save the size")
	ada.sees("Another person has changed this pool since you opened the form: it now has 6 slots, at most 2 per key.")
	ada.pictures("pools")
	ada.accessibleInBoth("pools")
	ada.press("Save the size")
	ada.sees("The pool gpu is saved.")
	slots("gpu", "0 of 8 slots in use")
	ada.press("New pool")
	ada.write("Name", "tpu 1")
	ada.write("Slots", "2")
	ada.write("Slots per key", "1")
	ada.press("Create the pool")
	ada.sees("This name has another form.")
	ada.write("Name", "tpu-1")
	ada.press("Create the pool")
	slots("tpu-1", "0 of 2 slots in use, at most 1 per key")
	ada.seesNot("Create the pool")
	eve := w.open("eve", "#/system")
	eve.press("Change size of gpu")
	eve.press("Save the size")
	eve.sees("You may not do this.")
	german := w.open("ada", "#/system")
	german.sees("Slots by pool")
	german.run(`localStorage["interlude-settings /desk/"] = JSON.stringify({ language: "de" })`)
	german.reload()
	german.press("Größe ändern: gpu")
	german.press("Neuer Pool")
	german.press("Pool anlegen")
	german.sees("Geben Sie eine ganze Zahl von 1 bis 1.000.000 ein.")
	german.pictures("pools-german")
	german.accessibleInBoth("pools in German")
}

// N7: an operator reads the end of a turn's log and then earlier parts, cut within no character, and
// saves it; hidden characters are named; another machine's logs are not claimed to be missing.
func TestN7AnOperatorReadsTheLogOfATurn(t *testing.T) {
	w := openWorld(t)
	w.ask(lifecycle.Spec{ID: "r"}, confirm("Ship?"))
	folder, err := w.lc.Folder(t.Context(), "r")
	require.NoError(t, err)
	first, last := "The first line\n", "\x1b[31mThe last line\u202e"
	body := first + strings.Repeat("ä line of the log € \n", 6000) + last
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "transcripts", name), []byte(text), 0o600))
	}
	write("attempt-1.out", body)
	write("attempt-1.err", "")
	ada := w.open("ada", "#/runs/r")
	ada.press("Logs of the turns")
	ada.press("Show the end: Turn 1, output")
	const log = `document.querySelector(".log")`
	ada.until(log + `?.innerText.endsWith("The last lineU+202E")`)
	ada.until(log + `.innerText.includes("U+001B[31mThe last")`)
	ada.until(`!` + log + `.innerText.includes("\ufffd") && !` + log + `.innerText.includes("The first line")`)
	ada.until(`document.activeElement === ` + log)
	ada.pictures("log")
	ada.accessibleInBoth("a log")
	ada.press("Show 64 KiB more")
	ada.sees("The last 131,072 of ")
	ada.until(`document.querySelector(".logs button[aria-busy]") === null`)
	ada.press("Show 64 KiB more")
	ada.until(log + `.innerText.startsWith("The first line")`)
	ada.until(log + `.innerText.match(/ä line of the log €/g).length === 6000`)
	ada.seesNot("Show 64 KiB more")
	require.Equal(t, body, js[string](ada,
		`fetch(document.querySelector("a[download][aria-label='Download: Turn 1, output']").href).then((r) => r.text())`))
	ada.press("Show the end: Turn 1, error output")
	ada.sees("The log is empty.")
	require.NoError(t, os.RemoveAll(folder))
	ada.press("Logs of the turns")
	ada.press("Logs of the turns")
	ada.sees("has no logs of this run. The machine that executed its turns has them.")
	require.Equal(t, []string{"bytes=0-9", "bytes=4464-69999"}, js[[]string](ada,
		`import("./logs.js").then(({ rangeBefore }) => [rangeBefore(10), rangeBefore(70000)])`))
	require.Equal(t, []string{"€a", "\ufffda"}, js[[]string](ada, `import("./logs.js").then(({ textOf }) => {
		const bytes = [...new TextEncoder().encode("€€a")].slice(1);
		return [textOf([new Uint8Array(bytes.slice(0, 3)), new Uint8Array(bytes.slice(3))], false),
			textOf([new Uint8Array([0xac, 0x61])], true)];
	})`))
}
