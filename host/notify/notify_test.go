package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// asks is an engine that asks one question, and is done when it is answered.
var asks = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Kind: engine.Confirm, Prompt: "Ship it?"}), nil
	}
	return engine.Done("Shipped."), nil
})

// host executes runs in a bubble.
type host struct {
	testing.TB

	store store.Store
	queue Queue
	lc    *lifecycle.Lifecycle
	stop  func()
}

func newHost(tb testing.TB) *host {
	tb.Helper()
	h := &host{TB: tb, store: memory.New(), queue: NewMemory()}
	lc, err := lifecycle.New(lifecycle.Config{Store: h.store, Engine: asks, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(tb.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	h.lc = lc
	h.stop = func() {
		cancel()
		require.NoError(tb, <-served)
		lc.Close()
	}
	pass(time.Second)
	return h
}

// notify serves the endpoints until stop is called.
func (h *host) notify(change func(*Config), endpoints ...Endpoint) (n *Notifier, stop func()) {
	h.Helper()
	cfg := Config{Client: h.lc.Client, Queue: h.queue, Endpoints: endpoints, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	n, err := New(cfg)
	require.NoError(h, err)
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Serve(ctx)
	}()
	pass(time.Second)
	return n, func() {
		cancel()
		<-done
	}
}

func (h *host) submit(ids ...string) {
	h.Helper()
	for _, id := range ids {
		_, err := h.lc.Submit(h.Context(), lifecycle.Spec{ID: id, Prompt: "Go."})
		require.NoError(h, err)
	}
	pass(time.Second)
}

func (h *host) reply(id string) {
	h.Helper()
	_, err := h.lc.Reply(h.Context(), id, lifecycle.Reply{ID: 1, Text: "yes"})
	require.NoError(h, err)
	pass(time.Second)
}

// events returns the IDs of the run's events so far.
func (h *host) events(id string) (ids []string) {
	h.Helper()
	run, err := h.lc.Get(h.Context(), id)
	require.NoError(h, err)
	for seq := uint64(1); seq <= run.Seq; seq++ {
		ids = append(ids, fmt.Sprintf("%s/%d", id, seq))
	}
	return ids
}

// pass advances the time in a bubble, until all goroutines wait.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// receiver records accepted notices. The function refuses decides which to refuse.
type receiver struct {
	mu       sync.Mutex
	accepted []string // guarded by mu
	attempts []Notice // guarded by mu
	at       []time.Time
	refuses  func(Notice) error // guarded by mu
}

var errDown = errors.New("down")

func (r *receiver) Send(_ context.Context, n Notice) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts, r.at = append(r.attempts, n), append(r.at, time.Now())
	if r.refuses != nil {
		if err := r.refuses(n); err != nil {
			return err
		}
	}
	r.accepted = append(r.accepted, n.ID)
	return nil
}

func (r *receiver) refuse(f func(Notice) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = f
}

// got returns the accepted notices in order, of one run if it is named.
func (r *receiver) got(run ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.accepted), func(id string) bool {
		key, err := ParseID(id)
		return err != nil || len(run) > 0 && key.RunID != run[0]
	})
}

// L4: without failures each event arrives once, in the order of its run; a filter selects.
func TestL4EachEventIsSentInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var all, questions receiver
		_, stop := h.notify(nil, Endpoint{Name: "all", Sender: &all}, Endpoint{Name: "questions", Sender: &questions,
			Filter: lifecycle.FeedFilter{Types: []string{lifecycle.TypeInputRequired}}})
		defer stop()
		h.submit("a", "b")
		h.reply("a")
		require.Equal(t, h.events("a"), all.got("a"))
		require.Equal(t, h.events("b"), all.got("b"))
		require.Len(t, questions.got(), 2)
		for _, n := range questions.attempts {
			q, ok := n.Question()
			require.True(t, ok)
			require.Equal(t, "Ship it?", q.Prompt)
			open, err := OpenQuestion(t.Context(), h.lc.Client, n)
			require.NoError(t, err)
			require.Equal(t, n.Event.RunID == "b", open != nil, "the question of a is settled")
		}
	})
}

// L4: a failed attempt is repeated with growing pauses; later notices of its run wait, and notices
// of other runs and endpoints do not.
func TestL4AFailureIsTriedAgainAndHoldsUpItsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var bad, good receiver
		bad.refuse(func(n Notice) error {
			if n.Event.RunID == "poison" && n.Event.Seq == 2 {
				return errDown
			}
			return nil
		})
		retry := Retry{Attempts: 8, First: time.Second, Max: 20 * time.Second}
		n, stop := h.notify(func(c *Config) { c.MaxRuns = 2 }, Endpoint{Name: "bad", Sender: &bad, Retry: retry},
			Endpoint{Name: "good", Sender: &good})
		defer stop()
		h.submit("poison", "other")
		require.Equal(t, h.events("other"), bad.got("other"))
		require.Equal(t, h.events("poison"), good.got("poison"))
		pass(10 * time.Second)
		require.Equal(t, []string{"poison/1"}, bad.got("poison"))
		status, err := n.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(h.events("poison"))-1, status[0].Pending, "more than MaxRuns: they belong to one run")
		require.Equal(t, 1, status[0].Runs)
		require.Zero(t, status[1].Count)
		bad.refuse(nil)
		pass(time.Minute)
		require.Equal(t, h.events("poison"), bad.got("poison"))
		var at []time.Time
		for i, n := range bad.attempts {
			if n.ID == "poison/2" {
				at = append(at, bad.at[i])
				require.Equal(t, len(at), n.Attempt)
			}
		}
		require.Greater(t, len(at), 3)
		for i, longest := 1, retry.First; i < len(at); i, longest = i+1, min(2*longest, retry.Max) {
			require.GreaterOrEqual(t, at[i].Sub(at[i-1]), longest/2)
			require.LessOrEqual(t, at[i].Sub(at[i-1]), longest)
		}
	})
}

// L4: after its last attempt, or a permanent error, a notice is a dead letter: it is listed, its
// run continues without it, and it can be resent.
func TestL4ADeadLetterIsListedAndSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var r receiver
		r.refuse(func(n Notice) error {
			switch n.ID {
			case "a/2":
				return errDown
			case "b/1":
				return Permanent(errDown)
			}
			return nil
		})
		n, stop := h.notify(nil, Endpoint{Name: "r", Sender: &r, Retry: Retry{Attempts: 3}})
		defer stop()
		h.submit("a", "b")
		pass(time.Minute)
		require.Equal(t, slices.Delete(h.events("a"), 1, 2), r.got("a"))
		require.Equal(t, h.events("b")[1:], r.got("b"))
		dead, err := n.DeadLetters(t.Context(), "r", Key{}, 10)
		require.NoError(t, err)
		require.Len(t, dead, 2)
		require.Equal(t, []any{"a/2", 3, "down"}, []any{dead[0].ID(), dead[0].Attempts, dead[0].Reason})
		require.Equal(t, []any{"b/1", 1}, []any{dead[1].ID(), dead[1].Attempts})
		page, err := n.DeadLetters(t.Context(), "r", dead[0].Key(), 10)
		require.NoError(t, err)
		require.Equal(t, dead[1:], page)

		r.refuse(nil)
		require.NoError(t, n.Resend(t.Context(), "r", "a/2"))
		require.ErrorIs(t, n.Resend(t.Context(), "r", "a/2"), ErrNoDeadLetter)
		require.NoError(t, n.Discard(t.Context(), "r", "b/1"))
		pass(time.Second)
		require.Equal(t, "a/2", r.got("a")[len(r.got("a"))-1])
		status, err := n.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, []Status{{Endpoint: "r"}}, status)
	})
}

// L4: an endpoint that is down for long delays its feed, neither growing the queue nor delaying
// another endpoint, and gets all notices when it works again.
func TestL4AnEndpointThatIsDownHoldsItsOwnFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var down, up receiver
		down.refuse(func(Notice) error { return errDown })
		hangs := SenderFunc(func(ctx context.Context, _ Notice) error {
			<-ctx.Done()
			return ctx.Err()
		})
		n, stop := h.notify(func(c *Config) { c.MaxRuns = 10 }, Endpoint{Name: "down", Sender: &down},
			Endpoint{Name: "hangs", Sender: hangs}, Endpoint{Name: "up", Sender: &up})
		defer stop()
		var ids []string
		for i := range 40 {
			ids = append(ids, fmt.Sprintf("run-%02d", i))
			h.submit(ids[i])
			require.Equal(t, h.events(ids[i]), up.got(ids[i]))
		}
		status, err := n.Status(t.Context())
		require.NoError(t, err)
		for _, s := range status[:2] {
			require.GreaterOrEqual(t, s.Runs, 10, s.Endpoint)
			require.Less(t, s.Runs, 40, s.Endpoint)
			require.Positive(t, s.Unread, s.Endpoint)
		}
		require.Zero(t, status[2].Unread)
		down.refuse(nil)
		pass(time.Hour)
		for _, id := range ids {
			require.Equal(t, h.events(id), down.got(id))
		}
	})
}

// L4: the next process sends the notices of a process that ended or died.
func TestL4AnotherProcessGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var r receiver
		hangs := SenderFunc(func(ctx context.Context, _ Notice) error {
			<-ctx.Done()
			return ctx.Err()
		})
		_, stop := h.notify(nil, Endpoint{Name: "r", Sender: hangs})
		h.submit("a")
		stop()
		// This process dies: it has claimed a notice and stores nothing more.
		dead, _, err := h.queue.Claim(t.Context(), "r", time.Now(), time.Now().Add(30*time.Second), 1)
		require.NoError(t, err)
		require.Equal(t, "a/1", dead[0].ID(), "an interrupted attempt is repeated immediately")
		n, stop := h.notify(nil, Endpoint{Name: "r", Sender: &r})
		defer stop()
		pass(20 * time.Second)
		require.Empty(t, r.got(), "the claim lasts")
		pass(20 * time.Second)
		require.Equal(t, h.events("a"), r.got())
		require.Equal(t, 3, r.attempts[0].Attempt)

		// The process was only slow: its stores have no effect.
		require.NoError(t, h.queue.Retry(t.Context(), "r", dead[0], time.Now(), "late"))
		require.NoError(t, h.queue.Bury(t.Context(), "r", dead[0], time.Now(), "late"))
		status, err := n.Status(t.Context())
		require.NoError(t, err)
		require.Zero(t, status[0].Count)
	})
}

// L4: a sender that panics, or a queue that fails for a time, loses nothing.
func TestL4FaultsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		faulty := &faultyQueue{Queue: h.queue}
		h.queue = faulty
		var r receiver
		panicked := false
		r.refuse(func(Notice) error {
			if !panicked {
				panicked = true
				panic("out of order")
			}
			return nil
		})
		_, stop := h.notify(nil, Endpoint{Name: "r", Sender: &r})
		defer stop()
		h.submit("a")
		faulty.fail(true)
		h.submit("b")
		pass(time.Minute)
		faulty.fail(false)
		pass(time.Minute)
		require.Equal(t, h.events("a"), slices.Compact(r.got("a")))
		require.Equal(t, h.events("b"), slices.Compact(r.got("b")))
	})
}

// J10, L4: senders that exit their goroutine free their place in the endpoint, and lose no notice.
func TestJ10ASenderThatEndsItsGoroutineIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var r receiver
		left := 2
		r.refuse(func(Notice) error {
			if left > 0 {
				left--
				runtime.Goexit()
			}
			return nil
		})
		_, stop := h.notify(nil, Endpoint{Name: "r", Sender: &r, Concurrency: 1})
		defer stop()
		h.submit("a")
		pass(time.Hour)
		require.Equal(t, h.events("a"), slices.Compact(r.got("a")))
	})
}

// J10: Serve ends although a sender hangs.
func TestJ10ServeEndsThoughASenderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var r receiver
		hangs := make(chan struct{})
		defer close(hangs)
		r.refuse(func(Notice) error {
			<-hangs
			return nil
		})
		_, stop := h.notify(nil, Endpoint{Name: "r", Sender: &r})
		h.submit("a")
		began := time.Now()
		stop()
		require.Equal(t, abandonAfter, time.Since(began))
	})
}

// faultyQueue fails on request.
type faultyQueue struct {
	Queue

	mu    sync.Mutex
	fails bool // guarded by mu
}

func (q *faultyQueue) fail(fails bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fails = fails
}

func (q *faultyQueue) err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fails {
		return errDown
	}
	return nil
}

func (q *faultyQueue) Add(ctx context.Context, endpoint string, entries []Entry, now time.Time) error {
	if err := q.err(); err != nil {
		return err
	}
	return q.Queue.Add(ctx, endpoint, entries, now)
}

func (q *faultyQueue) Claim(ctx context.Context, endpoint string, now, until time.Time, n int) ([]Claimed, time.Time,
	error,
) {
	if err := q.err(); err != nil {
		return nil, time.Time{}, err
	}
	return q.Queue.Claim(ctx, endpoint, now, until, n)
}

// L4: a reset endpoint starts with the next event.
func TestL4AnEndpointIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var r receiver
		r.refuse(func(Notice) error { return errDown })
		n, stop := h.notify(nil, Endpoint{Name: "r", Sender: &r})
		h.submit("a")
		stop()
		require.NoError(t, n.Reset(t.Context(), "r"))
		require.NoError(t, n.Reset(t.Context(), "r"), "nothing is left to remove")
		feeds, err := h.lc.Feeds(t.Context())
		require.NoError(t, err)
		require.Empty(t, feeds)
		r.refuse(nil)
		_, stop = h.notify(nil, Endpoint{Name: "r", Sender: &r})
		defer stop()
		h.submit("b")
		require.Equal(t, h.events("b"), r.got())
	})
}

// records has the logged messages.
type records struct {
	slog.Handler

	mu       sync.Mutex
	messages []string // guarded by mu
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) Handle(_ context.Context, record slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, record.Message)
	return nil
}

// of returns the messages that equal any of these, in order.
func (r *records) of(messages ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.messages), func(m string) bool { return !slices.Contains(messages, m) })
}

// L4: a lost feed is logged once, and again only after it has worked in between.
func TestL4ALostFeedIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		faulty := &faultyQueue{Queue: h.queue}
		h.queue = faulty
		create := func() {
			_, err := h.lc.CreateFeed(t.Context(), FeedName("r"), time.Minute)
			require.NoError(t, err)
		}
		create()
		var r receiver
		logged := new(records)
		n, stop := h.notify(func(c *Config) { c.Logger = slog.New(logged) }, Endpoint{Name: "r", Sender: &r})
		defer stop()
		lose := func(id string) { // blocks acknowledgements while a run ends and is pruned
			faulty.fail(true)
			h.submit(id)
			h.reply(id)
			pass(time.Hour)
			pruned, err := h.lc.Prune(t.Context(), time.Now())
			require.NoError(t, err)
			require.Equal(t, 1, pruned)
			faulty.fail(false)
			pass(time.Hour)
		}
		const lost, whole = "feed of notices is lost: reset the endpoint", "feed of notices works again"
		lose("a")
		require.Equal(t, []string{lost}, logged.of(lost, whole))
		status, err := n.Status(t.Context())
		require.NoError(t, err)
		require.True(t, status[0].Lost)

		require.NoError(t, n.Reset(t.Context(), "r"))
		create()
		pass(time.Minute)
		h.submit("b")
		require.Equal(t, h.events("b"), r.got(), "it starts with the next event")
		require.Equal(t, []string{lost, whole}, logged.of(lost, whole))

		lose("c")
		require.Equal(t, []string{lost, whole, lost}, logged.of(lost, whole))
	})
}

// L4: a receiver that requests a pause gets it, within the limit.
func TestL4AReceiverMayAskForAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		var r receiver
		r.refuse(func(n Notice) error {
			switch n.Attempt {
			case 1:
				return &AfterError{10 * time.Minute, errDown}
			case 2:
				return &AfterError{1000 * time.Hour, errDown}
			}
			return nil
		})
		_, stop := h.notify(nil, Endpoint{Name: "r", Sender: &r, Retry: Retry{Max: time.Hour},
			Filter: lifecycle.FeedFilter{Types: []string{lifecycle.TypeInputRequired}}})
		defer stop()
		h.submit("a")
		pass(2 * time.Hour)
		require.Len(t, r.at, 3)
		require.Equal(t, 10*time.Minute, r.at[1].Sub(r.at[0]).Truncate(time.Millisecond))
		require.Equal(t, time.Hour, r.at[2].Sub(r.at[1]).Truncate(time.Millisecond))
	})
}

// N4: the text of a notice about a call names what distinguishes it from others.
func TestN4NoticesNameTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		payer := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			return engine.Ask(engine.Question{Kind: lifecycle.Approval, Prompt: "Pay?",
				Subject: &engine.Subject{Tool: "pay", Summary: "7 EUR to Ada\u202e"},
				Wait:    &engine.Wait{Steps: []engine.WaitStep{{Do: engine.Remind, After: time.Hour}}}}), nil
		})
		lc, err := lifecycle.New(lifecycle.Config{Engine: payer, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		var texts []string
		h := &host{TB: t, queue: NewMemory(), lc: lc}
		_, stop := h.notify(nil, Endpoint{Name: "people", Sender: SenderFunc(func(_ context.Context, n Notice) error {
			if text := DefaultMessage(n).Text; text != "" {
				texts = append(texts, text)
			}
			return nil
		})})
		h.submit("r")
		pass(2 * time.Hour)
		require.Equal(t, []string{"r (7 EUR to Ada\\u{202E}) asks: Pay?\npay ",
			"A question of r (7 EUR to Ada\\u{202E}) is still open."}, texts)
		stop()
		cancel()
		require.NoError(t, <-served)
		lc.Close()
	})
}

// N6: the event in a notice has the call's summary and changes, in a later protocol version; the text
// names a bounded number of paths with their lines.
func TestN6NoticesNameTheChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subject := &engine.Subject{Tool: "write", Summary: "bill 7"}
		for i := range 10 {
			subject.Changes = append(subject.Changes, engine.Change{Path: fmt.Sprint("a\u202e", i),
				Kind: engine.ChangeEdit, Before: "1\n2\n", After: "1\n3\n4\n"})
		}
		writer := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			q := engine.Question{Kind: lifecycle.Approval, Prompt: "Write?", Subject: &engine.Subject{Tool: "plain"}}
			if t.RunID == "r" {
				q.Subject = subject
			}
			return engine.Ask(q), nil
		})
		lc, err := lifecycle.New(lifecycle.Config{Engine: writer, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		notices := map[string]Notice{}
		h := &host{TB: t, queue: NewMemory(), lc: lc}
		_, stop := h.notify(nil, Endpoint{Name: "people", Sender: SenderFunc(func(_ context.Context, n Notice) error {
			if n.Event.Type == lifecycle.TypeInputRequired {
				notices[n.Event.RunID] = n
			}
			return nil
		})})
		h.submit("r")
		h.submit("plain")
		pass(time.Hour)
		stop()
		cancel()
		require.NoError(t, <-served)
		lc.Close()
		require.Equal(t, "fcmp/1.1", notices["plain"].Event.ProtocolVersion)
		n := notices["r"]
		require.Equal(t, "fcmp/1.4", n.Event.ProtocolVersion)
		require.Contains(t, string(n.Event.Data), `"summary":"bill 7"`)
		asked, ok := n.Question()
		require.True(t, ok)
		require.Len(t, asked.Changes, 10)
		require.Equal(t, "1\n3\n4\n", asked.Changes[9].After)
		text := DefaultMessage(n).Text
		require.Contains(t, text, "r (bill 7) asks: Write?")
		require.Contains(t, text, `edit a\u{202E}7 (-1 +2 lines)`)
		require.Contains(t, text, "… 2 more changes")
	})
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.stop()
		fine := Endpoint{Name: "a", Sender: &receiver{}}
		for _, cfg := range []Config{
			{Queue: h.queue}, {Client: h.lc.Client},
			{Client: h.lc.Client, Queue: h.queue, MaxRuns: -1},
			{Client: h.lc.Client, Queue: h.queue, Poll: -1},
			{Client: h.lc.Client, Queue: h.queue, Endpoints: []Endpoint{fine, fine}},
			{Client: h.lc.Client, Queue: h.queue, Endpoints: []Endpoint{{Name: "a/b", Sender: fine.Sender}}},
			{Client: h.lc.Client, Queue: h.queue, Endpoints: []Endpoint{{Name: "a"}}},
			{Client: h.lc.Client, Queue: h.queue, Endpoints: []Endpoint{{Name: "a", Sender: fine.Sender, Timeout: -1}}},
			{Client: h.lc.Client, Queue: h.queue, Endpoints: []Endpoint{{Name: "a", Sender: fine.Sender,
				Concurrency: -1}}},
			{Client: h.lc.Client, Queue: h.queue, Endpoints: []Endpoint{{Name: "a", Sender: fine.Sender,
				Retry: Retry{First: -1}}}},
		} {
			_, err := New(cfg)
			require.ErrorContains(t, err, "notify: ")
		}
		n, err := New(Config{Client: h.lc.Client, Queue: h.queue, Endpoints: []Endpoint{fine}})
		require.NoError(t, err)
		_, err = n.DeadLetters(t.Context(), "other", Key{}, 1)
		require.Error(t, err)
		_, err = n.DeadLetters(t.Context(), "a", Key{}, 0)
		require.Error(t, err)
		for _, id := range []string{"", "a", "/1", "a/", "a/x", "a/-1"} {
			require.Error(t, n.Resend(t.Context(), "a", id), id)
			require.Error(t, n.Discard(t.Context(), "a", id), id)
		}
		require.Error(t, n.Resend(t.Context(), "other", "a/1"))
		require.Error(t, n.Discard(t.Context(), "other", "a/1"))
	})
}
