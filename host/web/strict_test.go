package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// L1: a body that readers could understand differently is refused, and nothing is stored.
func TestL1ABodyWithTwoMeaningsIsRefused(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	for name, body := range map[string]string{
		"a member twice":                   `{"text":"no","text":"yes"}`,
		"a member twice, with escapes":     `{"text":"no","t\u0065xt":"yes"}`,
		"a member in two cases":            `{"text":"no","Text":"yes"}`,
		"a member in another case":         `{"TEXT":"yes"}`,
		"a member that folds to another":   `{"text":"no","` + "deci\u017fion" + `":"approve"}`,
		"a member twice in a value":        `{"value":{"a":1,"a":2}}`,
		"invalid UTF-8":                    "{\"text\":\"y\xffes\"}",
		"half a surrogate pair":            `{"text":"\ud800"}`,
		"the other half":                   `{"text":"\udc00yes"}`,
		"halves in the wrong order":        `{"text":"\udc00\ud800"}`,
		"half a surrogate pair in a value": `{"value":["\uD83Dx"]}`,
		"a name with half a pair":          `{"value":{"\ud800":1}}`,
		"too many values":                  `{"value":[` + strings.Repeat("[],", 100_000) + `[]]}`,
		"more than one value":              `{"text":"no"}{"text":"yes"}`,
	} {
		a := w.send("POST", "/runs/r/questions/1/reply", "bob", body)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, a.status, name)
		require.Equal(t, "INVALID_REQUEST", a.code(t), name)
		require.Less(t, len(a.body), 1000, name)
	}
	a := w.send("POST", "/runs", "bob", `{"prompt":"x","ask":{"to":{"Users":["eve"]}}}`)
	require.Equal(t, "INVALID_REQUEST", a.code(t))
	a = w.send("POST", "/runs", "bob", `{"prompt":"x","labels":{"a":"1","A":"2"},"input":{"b":1,"B":"\\ud800"}}`)
	require.Equal(t, http.StatusCreated, a.status, "the caller's names may differ in case: %s", a.body)
	a = w.send("POST", "/runs/r/questions/1/reply", "bob", `{"text":"yes \ud83d\ude00 \\ud800 \u00e9"}`)
	require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
	history, err := w.lc.History(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, `yes 😀 \ud800 é`, history[0].Response)
}

// L2: a run that the caller may not view is answered like an unknown run, on every route.
func TestL2ARunThatOneMayNotViewIsLikeNone(t *testing.T) {
	mine := func(_ context.Context, a lifecycle.Access) error {
		if a.Actor.ID == "eve" && a.Run != nil && a.Run.ID == "r" {
			return errors.New("the run belongs to the legal department")
		}
		return nil
	}
	w := open(t, lifecycle.Config{Authorize: mine}, web.Options{Identify: identify})
	w.submit("r", "Ship?", "ada")
	for _, c := range routes {
		if !strings.HasPrefix(c.path, "/runs/r") || c.path == "/runs/r/resume" {
			continue
		}
		there := w.send(c.method, c.path, "eve", c.body)
		none := w.send(c.method, strings.Replace(c.path, "/runs/r", "/runs/none", 1), "eve", c.body)
		require.Equal(t, http.StatusNotFound, none.status, "%s %s", c.method, c.path)
		require.Equal(t, none.status, there.status, "%s %s: %s", c.method, c.path, there.body)
		require.Equal(t, string(none.body), string(there.body), "%s %s", c.method, c.path)
	}
}

// L2: the text of a panic in Authorize is logged and not shown.
func TestL2APanicOfAuthorizeIsNotShown(t *testing.T) {
	w := open(t, lifecycle.Config{Authorize: func(_ context.Context, a lifecycle.Access) error {
		if a.Actor.ID == "eve" {
			panic("dial tcp db.internal:5432")
		}
		return nil
	}}, web.Options{Identify: identify})
	for _, c := range routes {
		a := w.send(c.method, c.path, "eve", c.body)
		require.NotContains(t, string(a.body), "db.internal", "%s %s", c.method, c.path)
	}
}

// F8: a cursor beyond the last event is an error even while the run lasts: the reader has events of
// another run, or of a database that was restored.
func TestF8ACursorBeyondTheEndIsRefused(t *testing.T) {
	w := openFor(t)
	w.submit("r", "Ship?", "ada")
	run, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	a := w.send("GET", fmt.Sprintf("/runs/r/events?after=%d", run.Seq+1), "ada", "")
	require.Equal(t, "CURSOR_BEYOND_END", a.code(t))
	a = w.send("GET", "/runs/r/events", "ada", "", "Last-Event-ID", "99999")
	require.Equal(t, "CURSOR_BEYOND_END", a.code(t))
	require.Equal(t, http.StatusOK, w.send("HEAD", fmt.Sprintf("/runs/r/events?after=%d", run.Seq), "ada", "").status)
}

// ahead is a clock ahead of the machine's, as a database server's may be.
type ahead struct {
	lifecycle.SystemClock
	by atomic.Int64
}

func (a *ahead) Now() time.Time { return time.Now().Add(time.Duration(a.by.Load())) }

// K5: a claim given in seconds lasts, and is shown, by the client's clock.
func TestK5AClaimLastsByTheClientsClock(t *testing.T) {
	clock := new(ahead)
	clock.by.Store(int64(time.Hour))
	w := open(t, lifecycle.Config{Clock: clock}, web.Options{Identify: identify})
	w.submit("r", "Ship?", "ada")
	a := w.send("POST", "/runs/r/questions/1/claim", "bob", `{"seconds":60}`)
	require.Equal(t, http.StatusNoContent, a.status, "%s", a.body)
	run, err := w.lc.Get(t.Context(), "r")
	require.NoError(t, err)
	until := run.OpenQuestion(1).Claim.Until
	require.WithinRange(t, until, w.lc.Now(), w.lc.Now().Add(time.Minute))
	var claimed, free web.Record
	w.send("GET", "/runs/r/questions/1", "ada", "").into(t, &claimed)
	require.NotNil(t, claimed.Question.Claim)
	require.False(t, claimed.Question.MayReply)
	require.False(t, claimed.Question.Claim.Mine)
	var own web.Record
	w.send("GET", "/runs/r/questions/1", "bob", "").into(t, &own)
	require.True(t, own.Question.Claim.Mine)
	clock.by.Store(int64(2 * time.Hour))
	w.send("GET", "/runs/r/questions/1", "ada", "").into(t, &free)
	require.Nil(t, free.Question.Claim)
	require.True(t, free.Question.MayReply)
}

// sealed refuses to read histories once it is set.
type sealed struct {
	*memory.Store
	set atomic.Bool
}

func (s *sealed) History(ctx context.Context, id string, q store.HistoryQuery) (lifecycle.Run,
	[]lifecycle.Record, error) {
	if s.set.Load() {
		return lifecycle.Run{}, nil, errors.New("the whole history was read")
	}
	return s.Store.History(ctx, id, q)
}

// I5: reading one question, and a late reply to it, do not read the run's whole history.
func TestI5ALookAtAQuestionReadsNoHistory(t *testing.T) {
	st := &sealed{Store: memory.New()}
	w := open(t, lifecycle.Config{Store: st}, web.Options{Identify: identify})
	w.submit("r", "Ship?", "ada")
	w.submit("open", "Ship?", "ada")
	require.Equal(t, http.StatusCreated, w.send("POST", "/runs/r/questions/1/reply", "bob", `{"text":"yes"}`).status)
	_, err := w.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	st.set.Store(true)
	var q web.Record
	w.send("GET", "/runs/open/questions/1", "ada", "").into(t, &q)
	require.Equal(t, "Ship?", q.Question.Prompt)
	require.True(t, q.Question.MayReply)
	w.send("GET", "/runs/r/questions/1", "ada", "").into(t, &q)
	require.Equal(t, "bob", q.Actor)
	require.Equal(t, "yes", q.Text)
	require.False(t, q.Question.MayReply)
	require.Equal(t, "NOT_FOUND", w.send("GET", "/runs/r/questions/2", "ada", "").code(t))
	var late web.Problem
	w.send("POST", "/runs/r/questions/1/reply", "eve", `{"text":"no"}`).into(t, &late)
	require.Equal(t, "SETTLED", late.Code)
	require.Equal(t, "bob", late.Settled.Actor)
}

// I5: a listing contains no outputs, which can have 1 MiB each.
func TestI5AListingCarriesNoOutput(t *testing.T) {
	w := openFor(t)
	w.send("POST", "/runs", "ada", `{"id":"r","prompt":"nothing"}`)
	run, err := w.lc.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "done", run.FinalText)
	var page web.Runs
	w.send("GET", "/runs", "ada", "").into(t, &page)
	require.Len(t, page.Runs, 1)
	require.Empty(t, page.Runs[0].FinalText)
	var one web.Run
	w.send("GET", "/runs/r", "ada", "").into(t, &one)
	require.Equal(t, "done", one.FinalText)
}
