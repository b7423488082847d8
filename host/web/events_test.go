package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// follower reads one stream of server-sent events.
type follower struct {
	t     *testing.T
	res   *http.Response
	lines *bufio.Scanner
}

func (w *world) follow(run string, headers ...string) *follower {
	w.t.Helper()
	return w.stream("/runs/"+run+"/events", "ada", headers...)
}

func (w *world) stream(path, person string, headers ...string) *follower {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.server.URL+"/interlude/api"+path, nil)
	require.NoError(w.t, err)
	r.Header.Set("X-User", person)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	f := &follower{w.t, res, bufio.NewScanner(res.Body)}
	f.lines.Buffer(nil, 1<<20)
	late := time.AfterFunc(time.Minute, func() { res.Body.Close() }) // fails the test if an event does not arrive
	w.t.Cleanup(func() { late.Stop(); res.Body.Close() })
	return f
}

// next returns the next block of lines, without the blank one; nil at the end.
func (f *follower) next() map[string]string {
	f.t.Helper()
	block := map[string]string{}
	for f.lines.Scan() {
		if f.lines.Text() == "" {
			return block
		}
		name, value, _ := strings.Cut(f.lines.Text(), ": ")
		block[name] = value
	}
	return nil
}

// events returns the events until the stream ends.
func (f *follower) events() (all []lifecycle.Event) {
	f.t.Helper()
	for block := f.next(); block != nil; block = f.next() {
		if block["data"] == "" {
			continue
		}
		var e lifecycle.Event
		require.NoError(f.t, json.Unmarshal([]byte(block["data"]), &e))
		require.Equal(f.t, strconv.FormatUint(e.Seq, 10), block["id"])
		all = append(all, e)
	}
	return all
}

func TestL3AStreamHasEveryEventAndEndsWithTheRun(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	f := w.follow("r")
	require.Equal(t, "text/event-stream", f.res.Header.Get("Content-Type"))
	require.Contains(t, f.next(), "retry")
	require.Equal(t, "1", f.next()["id"], "past events come first")
	w.send("POST", "/runs/r/questions/1/reply", "ada", `{"text":"yes"}`)
	live := f.events()

	var stored []lifecycle.Event
	for e, err := range w.lc.Events(t.Context(), "r", 1) {
		require.NoError(t, err)
		stored = append(stored, e)
	}
	require.Equal(t, stored, live)
	require.True(t, live[len(live)-1].Terminal())
}

func TestL3AReconnectGoesOnAfterTheLastEventAndStopsAtTheEnd(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	w.send("POST", "/runs/r/questions/1/reply", "ada", `{"text":"yes"}`)
	run, err := w.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	for after := range run.Seq {
		events := w.follow("r", "Last-Event-ID", strconv.FormatUint(after, 10)).events()
		require.Len(t, events, int(run.Seq-after))
		require.Equal(t, after+1, events[0].Seq, "no event is lost or duplicated")
	}
	last := strconv.FormatUint(run.Seq, 10)
	require.Equal(t, 204, w.send("GET", "/runs/r/events", "ada", "", "Last-Event-ID", last).status)
	require.Equal(t, 204, w.send("GET", "/runs/r/events?after="+last, "ada", "").status)
	gone := w.send("GET", "/runs/r/events", "ada", "", "Last-Event-ID", strconv.FormatUint(run.Seq+1, 10))
	require.Equal(t, "CURSOR_BEYOND_END", gone.code(t))
	require.Equal(t, "INVALID_ARGUMENT", w.send("GET", "/runs/r/events", "ada", "", "Last-Event-ID", "x").code(t))
	require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/nobodys/events", "ada", "").code(t))
}

// R5: a reader whose last event was lost in a restore is refused, by the ids of server-sent events and
// by after. A bare number in after says only where to begin.
func TestR5AReaderOfALostEventIsRefused(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	for _, c := range []struct {
		path, id string
		status   int
	}{
		{"", "3", http.StatusOK}, {"?after=3@0", "", http.StatusOK}, {"?after=3", "", http.StatusOK},
		{"", "3@1800000000000000", http.StatusGone}, {"?after=3@1800000000000000", "", http.StatusGone},
		{"?after=900", "", http.StatusGone}, {"?after=900@0", "", http.StatusGone},
		{"", "3@x", http.StatusBadRequest}, {"?after=x", "", http.StatusUnprocessableEntity},
	} {
		f := w.stream("/runs/r/events"+c.path, "ada", "Last-Event-ID", c.id)
		require.Equal(t, c.status, f.res.StatusCode, c)
		f.res.Body.Close()
	}
}

func TestL3AQuietStreamShowsThatItIsAliveAndAsksAgainWhoMayView(t *testing.T) {
	var revoked atomic.Bool
	w := open(t, lifecycle.Config{Authorize: func(_ context.Context, a lifecycle.Access) error {
		if revoked.Load() && a.Actor.ID == "ada" {
			return errors.New("left the team")
		}
		return nil
	}}, web.Options{Identify: identify, Heartbeat: 5 * time.Millisecond})
	w.submit("r", "Ship?", "ada")
	f := w.follow("r")
	beats := 0
	for beats < 3 {
		block := f.next()
		require.NotNil(t, block)
		if _, ok := block[""]; ok {
			beats++
		}
	}
	revoked.Store(true)
	for block := f.next(); ; block = f.next() {
		require.NotNil(t, block)
		if block["event"] == "problem" {
			require.Contains(t, block["data"], "NOT_FOUND")
			break
		}
	}
	require.Nil(t, f.next(), "the stream has ended")
}

// A session that ends, or changes to another person, ends its streams.
func TestL3AStreamEndsWithTheSessionOfItsReader(t *testing.T) {
	for name, become := range map[string]func() (lifecycle.Actor, error){
		"signed out":   func() (lifecycle.Actor, error) { return lifecycle.Actor{}, errors.New("no session") },
		"another":      func() (lifecycle.Actor, error) { return lifecycle.Actor{ID: "bob"}, nil },
		"left a group": func() (lifecycle.Actor, error) { return lifecycle.Actor{ID: "ada"}, nil },
	} {
		var changed atomic.Bool
		var asked atomic.Int64
		w := open(t, lifecycle.Config{}, web.Options{Heartbeat: 5 * time.Millisecond,
			Identify: func(*http.Request) (lifecycle.Actor, error) {
				if changed.Load() {
					return become()
				}
				groups := []string{"a", "b"}
				if asked.Add(1)%2 == 0 {
					groups = []string{"b", "a"} // the order is irrelevant
				}
				return lifecycle.Actor{ID: "ada", Groups: groups}, nil
			}})
		w.submit("r", "Ship?", "ada")
		f := w.follow("r")
		for beats := 0; beats < 3; {
			block := f.next()
			require.NotNil(t, block, name)
			if _, ok := block[""]; ok {
				beats++
			}
		}
		changed.Store(true)
		last := map[string]string{}
		for block := f.next(); block != nil; block = f.next() {
			last = block
		}
		require.Equal(t, "problem", last["event"], name)
		require.Contains(t, last["data"], "UNAUTHENTICATED", name)
	}
}

// http.Server.Shutdown waits for running requests, and a stream may run for days.
func TestL3AServerThatShutsDownDoesNotWaitForItsStreams(t *testing.T) {
	var frontEnd *web.Server
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify}, func(h http.Handler) http.Handler {
		frontEnd = h.(*web.Server)
		return h
	})
	w.server.Config.RegisterOnShutdown(frontEnd.Close)
	w.submit("r", "Ship?", "ada")
	f := w.follow("r")
	require.Equal(t, "1", func() map[string]string { f.next(); return f.next() }()["id"])
	require.NoError(t, w.server.Config.Shutdown(t.Context()))
	for block := f.next(); block != nil; block = f.next() {
		require.NotEqual(t, "problem", block["event"], "an EventSource reconnects")
	}
	again := request(frontEnd, "GET", "/runs/r/events", "", func(r *http.Request) { r.Header.Set("X-User", "ada") })
	require.Equal(t, http.StatusServiceUnavailable, again.Code)
	require.Contains(t, again.Body.String(), "SHUTTING_DOWN")
	other := request(frontEnd, "GET", "/runs/r", "", func(r *http.Request) { r.Header.Set("X-User", "ada") })
	require.Equal(t, http.StatusOK, other.Code, "running requests are still served")
}

func TestL3FurtherFollowersThanAllowedAreRefused(t *testing.T) {
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify, MaxFollowers: 1})
	w.submit("r", "Ship?", "ada")
	first := w.follow("r")
	require.NotNil(t, first.next())
	second := w.send("GET", "/runs/r/events", "ada", "")
	require.Equal(t, "TOO_MANY_FOLLOWERS", second.code(t))
	require.NotEmpty(t, second.header.Get("Retry-After"))
}

// One person cannot use up the limit of all streams.
func TestL3AFollowerOfManyStreamsIsRefused(t *testing.T) {
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify, MaxFollowersEach: 2})
	w.submit("r", "Ship?", "ada")
	w.follow("r")
	ends := w.follow("r")
	require.NotNil(t, ends.next())
	for _, path := range []string{"GET /runs/r/events", "POST /feeds/f/next"} {
		method, path, _ := strings.Cut(path, " ")
		third := w.send(method, path, "ada", "{}")
		require.Equal(t, http.StatusTooManyRequests, third.status, path)
		require.Equal(t, "TOO_MANY_FOLLOWERS", third.code(t))
		require.NotEmpty(t, third.header.Get("Retry-After"))
	}
	others := w.stream("/runs/r/events", "bob")
	require.NotNil(t, others.next())
	require.NoError(t, ends.res.Body.Close())
	require.Eventually(t, func() bool {
		return w.send("POST", "/feeds/f/next", "ada", `{"wait_sec":1}`).status == http.StatusOK
	}, time.Minute, time.Millisecond, "a stream that has ended does not count")
}

// L3: one person can neither occupy the server with requests nor change more in a minute than
// MaxChangesEach: submit, fork, claim, resume and every other POST. Others are served, and so is the
// person in the next minute.
func TestL3OnePersonsRequestsAndChangesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		lc, err := lifecycle.New(lifecycle.Config{Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (
			engine.Outcome, error) {
			return engine.Done(""), nil
		}), Authorize: func(_ context.Context, a lifecycle.Access) error {
			if a.Action == lifecycle.ActionStats {
				<-release
			}
			return nil
		}})
		require.NoError(t, err)
		defer lc.Close()
		d := web.Handler(lc.Client, web.Options{Identify: identify, MaxRequestsEach: 2, MaxChangesEach: 6})
		send := func(method, path, person, body string) *httptest.ResponseRecorder {
			return request(d, method, path, body, func(r *http.Request) { r.Header.Set("X-User", person) })
		}
		var busy sync.WaitGroup
		for range 2 {
			busy.Go(func() { send("GET", "/stats", "ada", "") })
		}
		synctest.Wait()
		require.Equal(t, http.StatusTooManyRequests, send("GET", "/me", "ada", "").Code)
		require.Equal(t, http.StatusOK, send("GET", "/me", "bob", "").Code)
		close(release)
		busy.Wait()
		require.Equal(t, http.StatusOK, send("GET", "/me", "ada", "").Code)

		bodies := map[string]string{"/runs": `{"prompt":"x"}`, "/runs/r/fork": "{}", "/runs/r/cancel": "{}",
			"/runs/r/resume": `{"choice":"end"}`, "/runs/r/questions/1/claim": `{"seconds":9}`,
			"/runs/r/questions/1/reply": `{"text":"x"}`, "/runs/r/questions/1/release": "",
			"/runs/r/questions/1/extend":   `{"until":"2040-01-01T00:00:00Z"}`,
			"/runs/r/questions/1/reassign": `{"to":{"users":["ada"]}}`}
		for i, path := range []string{"/runs", "/runs/r/fork", "/runs/r/resume", "/runs/r/cancel",
			"/runs/r/questions/1/claim", "/runs"} {
			require.NotEqual(t, http.StatusTooManyRequests, send("POST", path, "ada", bodies[path]).Code, i)
		}
		for _, path := range []string{"/runs", "/runs/r/fork", "/runs/r/questions/1/reply",
			"/runs/r/questions/1/release", "/runs/r/questions/1/extend", "/runs/r/questions/1/reassign"} {
			refused := send("POST", path, "ada", bodies[path])
			require.Equal(t, http.StatusTooManyRequests, refused.Code, path)
			require.Contains(t, refused.Body.String(), "TOO_MANY")
			require.NotEmpty(t, refused.Header().Get("Retry-After"))
			require.NotEqual(t, http.StatusTooManyRequests, send("POST", path, "bob", bodies[path]).Code, path)
		}
		require.Equal(t, http.StatusOK, send("GET", "/me", "ada", "").Code, "reading is no change")
		time.Sleep(time.Minute)
		require.Equal(t, http.StatusNotFound, send("POST", "/runs/r/fork", "ada", "{}").Code)
	})
}

// A reader that takes nothing fills its socket: its run and the other readers do not wait, and it
// is disconnected.
func TestL3ASlowReaderDelaysNobodyAndIsCut(t *testing.T) {
	const chunks, size = 400, 32 << 10 // more than sockets on one machine buffer
	text := strings.Repeat("x", size)
	var talker engine.Func = func(ctx context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
		if len(turn.Answers) == 0 {
			return engine.Ask(engine.Question{Kind: engine.Confirm, Prompt: "Talk?"}), nil
		}
		for range chunks {
			if err := sink.Message(ctx, engine.Message{Text: text}); err != nil {
				return engine.Outcome{}, err
			}
		}
		return engine.Done("done"), nil
	}
	cut := make(chan struct{})
	w := open(t, lifecycle.Config{Engines: map[string]engine.Engine{"talker": talker}},
		web.Options{Identify: identify, WriteTimeout: 200 * time.Millisecond}, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(w, r)
				if r.Header.Get("X-Slow") != "" {
					close(cut)
				}
			})
		})
	a := w.send("POST", "/runs", "ada", `{"id":"r","prompt":"x","engine":"talker"}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	w.untilAsked("r")

	slow, err := net.Dial("tcp", strings.TrimPrefix(w.server.URL, "http://"))
	require.NoError(t, err)
	defer slow.Close()
	_, err = slow.Write([]byte("GET /interlude/api/runs/r/events HTTP/1.1\r\nHost: x\r\nX-User: ada\r\n" +
		"X-Slow: yes\r\nConnection: close\r\n\r\n"))
	require.NoError(t, err)
	first := make([]byte, 1)
	_, err = slow.Read(first) // from now on it reads nothing
	require.NoError(t, err)

	quick := w.follow("r")
	require.Equal(t, http.StatusCreated, w.send("POST", "/runs/r/questions/1/reply", "ada", `{"text":"yes"}`).status)
	sent, last := 0, uint64(0)
	for ended := false; !ended; { // a busy machine may disconnect this reader too; it reconnects
		for _, e := range quick.events() {
			require.Equal(t, last+1, e.Seq, "no event is lost or duplicated")
			last, ended = e.Seq, e.Terminal()
			sent += len(e.Data)
		}
		if !ended {
			quick = w.follow("r", "Last-Event-ID", strconv.FormatUint(last, 10))
		}
	}
	require.Greater(t, sent, chunks*size)

	<-cut
	got := 0
	for buffer := make([]byte, 1<<20); ; {
		n, err := slow.Read(buffer)
		got += n
		if err != nil {
			break // disconnected
		}
	}
	require.Less(t, got, sent, "disconnected before the end")
}

// changes returns the changes of an inbox up to one of the run with (open) or without questions.
func (f *follower) changes(run string, open bool) (all []web.InboxChange) {
	f.t.Helper()
	for block := f.next(); block != nil; block = f.next() {
		if block["event"] != "change" {
			continue
		}
		var c web.InboxChange
		require.NoError(f.t, json.Unmarshal([]byte(block["data"]), &c))
		if all = append(all, c); c.RunID == run && len(c.Questions) > 0 == open {
			return all
		}
	}
	require.Fail(f.t, "the stream has ended", "%v", all)
	return nil
}

func TestL3AnInboxIsWatchedByWhoeverMaySeeItsQuestions(t *testing.T) {
	w := openFor(t)
	ada, bob := w.stream("/inbox/events", "ada"), w.stream("/inbox/events?pool=default", "bob")
	for _, f := range []*follower{ada, bob} {
		require.Equal(t, "text/event-stream", f.res.Header.Get("Content-Type"))
		require.Contains(t, f.next(), "retry")
		require.Equal(t, map[string]string{"event": "reload", "data": "{}"}, f.next())
	}
	ask := func(id, person string) {
		a := w.send("POST", "/runs", "ada", `{"prompt":"Ship?","ask":{"to":{"users":["`+person+`"]}}}`,
			"Idempotency-Key", id)
		require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
		w.untilAsked(id)
	}
	ask("hers", "ada")
	ask("his", "bob")
	// A question that is settled before a reader has seen it causes no change.
	asked := map[string][]web.InboxChange{"hers": ada.changes("hers", true), "his": bob.changes("his", true)}
	require.Equal(t, 204, w.send("POST", "/runs/hers/questions/1/claim", "ada", `{"seconds":60}`).status)
	require.Equal(t, 201, w.send("POST", "/runs/hers/questions/1/reply", "ada", `{"text":"yes"}`).status)
	require.Equal(t, 201, w.send("POST", "/runs/his/questions/1/reply", "bob", `{"text":"yes"}`).status)
	for run, f := range map[string]*follower{"hers": ada, "his": bob} {
		changes := slices.Concat(asked[run], f.changes(run, false))
		for _, c := range changes {
			require.Equal(t, run, c.RunID, "changes for other people are not sent")
			for _, q := range c.Questions {
				require.True(t, q.Question.MayReply)
			}
		}
		require.Equal(t, web.InboxChange{RunID: run, Questions: []web.OpenQuestion{}, Gone: []int{1}},
			changes[len(changes)-1])
	}
	require.Equal(t, "INVALID_ARGUMENT", w.send("GET", "/inbox/events?label=x", "ada", "").code(t))
}

func TestL3TheInboxOfOthersIsWatchedByWhomAuthorizeLetsAndAsLongAsItDoes(t *testing.T) {
	var revoked atomic.Bool
	w := open(t, lifecycle.Config{Authorize: func(_ context.Context, a lifecycle.Access) error {
		if a.Inbox != nil && (a.Inbox.For.ID != a.Actor.ID || revoked.Load()) {
			return errors.New("theirs alone")
		}
		return nil
	}}, web.Options{Identify: identify, Heartbeat: 5 * time.Millisecond})
	require.Equal(t, "NOT_ALLOWED", w.send("GET", "/inbox/events?all=true", "ada", "").code(t))
	f := w.stream("/inbox/events", "ada")
	for block := f.next(); block["event"] != "reload"; block = f.next() {
		require.NotNil(t, block)
	}
	revoked.Store(true)
	last := map[string]string{}
	for block := f.next(); block != nil; block = f.next() {
		last = block
	}
	require.Equal(t, "problem", last["event"])
	require.Contains(t, last["data"], "NOT_ALLOWED")
}
