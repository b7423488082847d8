package ui_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/front/fronttest"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

var quiet = slog.New(slog.DiscardHandler)

// host serves an agent.
func host(tb testing.TB, agent engine.Func) *lifecycle.Client {
	tb.Helper()
	return hostOn(tb, memory.New(), agent)
}

func hostOn(tb testing.TB, st lifecycle.Store, agent engine.Func) *lifecycle.Client {
	tb.Helper()
	return hostOf(tb, lifecycle.Config{Store: st}, agent)
}

func hostOf(tb testing.TB, cfg lifecycle.Config, agent engine.Func) *lifecycle.Client {
	tb.Helper()
	cfg.Engine, cfg.Logger = agent, quiet
	lc, err := lifecycle.New(cfg)
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	tb.Cleanup(func() {
		stop()
		require.NoError(tb, <-served)
	})
	return lc.Client
}

// asker asks for a text, and ends with it.
func asker(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: t.Prompt}), nil
	}
	return engine.Done(t.Answers[0].Text), nil
}

// approver asks two people to approve.
func approver(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Kind: engine.Approval, Prompt: "Pay?", Need: 2,
			Subject: &engine.Subject{Tool: "pay", Risk: "money"}}), nil
	}
	return engine.Done(string(t.Answers[0].Decision)), nil
}

func starts(_ context.Context, _ lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
	return lifecycle.Spec{Prompt: m.Text}, nil
}

func newServer(tb testing.TB, client *lifecycle.Client, change func(*ui.Config)) *ui.Server {
	tb.Helper()
	cfg := ui.Config{Client: client, Identify: identify, Start: starts, Logger: quiet}
	if change != nil {
		change(&cfg)
	}
	s, err := ui.New(cfg)
	require.NoError(tb, err)
	return s
}

// ask makes a request without a network.
func ask(tb testing.TB, h http.Handler, person, method, path, body string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+person)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	hello      = `{"id":"c","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"Hello?"}]}]}`
	helloThere = `{"threadId":"c","runId":"r","messages":[{"id":"m1","role":"user","content":"Hello?"}]}`
)

// P5: requests are bounded, and refused without a caller or from another site.
func TestP5RequestsAreBounded(t *testing.T) {
	s := newServer(t, host(t, asker), nil)
	for name, c := range map[string]struct {
		handler              http.Handler
		person, method, path string
		body                 string
		status               int
	}{
		"nobody":             {s.Chat(), "", "POST", "/chat", hello, 401},
		"another method":     {s.Chat(), "ada", "PUT", "/chat", hello, 405},
		"a read of AG-UI":    {s.AGUI(), "ada", "GET", "/agui", "", 405},
		"no JSON":            {s.Chat(), "ada", "POST", "/chat", "{", 400},
		"no id":              {s.Chat(), "ada", "POST", "/chat", `{"messages":[{"id":"m","role":"user"}]}`, 400},
		"no messages":        {s.Chat(), "ada", "POST", "/chat", `{"id":"c"}`, 400},
		"no text":            {s.Chat(), "ada", "POST", "/chat", `{"id":"c","messages":[{"id":"m","role":"user"}]}`, 400},
		"a long id":          {s.Chat(), "ada", "POST", "/chat", strings.Replace(hello, `"c"`, `"`+strings.Repeat("c", 257)+`"`, 1), 400},
		"a large body":       {s.Chat(), "ada", "POST", "/chat", `{"id":"` + strings.Repeat("c", ui.MaxBody) + `"}`, 413},
		"an unknown path":    {s.Chat(), "ada", "GET", "/chat/c", "", 404},
		"an unknown chat":    {s.Chat(), "ada", "GET", "/chat/c/stream", "", 204},
		"no thread":          {s.AGUI(), "ada", "POST", "/agui", `{"runId":"r"}`, 400},
		"too many answers":   {s.AGUI(), "ada", "POST", "/agui", `{"threadId":"c","runId":"r","resume":[{}` + strings.Repeat(",{}", 64) + `]}`, 400},
		"a large body there": {s.AGUI(), "ada", "POST", "/agui", `{"threadId":"` + strings.Repeat("c", ui.MaxBody) + `"}`, 413},
	} {
		w := ask(t, c.handler, c.person, c.method, c.path, c.body)
		require.Equal(t, c.status, w.Code, "%s: %s", name, w.Body)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/chat", strings.NewReader(hello))
	r.Header.Set("Authorization", "Bearer ada")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Origin", "https://desk.example.com")
	w := httptest.NewRecorder()
	s.Chat().ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
	trusting := newServer(t, host(t, asker), func(c *ui.Config) { c.Origins = []string{"https://desk.example.com"} })
	w = httptest.NewRecorder()
	r.Body = io.NopCloser(strings.NewReader(hello))
	trusting.Chat().ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
}

// P2, P5: a person has a bounded number of streams. The stream of a run that waits for others is kept
// alive, and ends after a while; Close ends it at once.
func TestP2AStreamWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := host(t, func(ctx context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
			o, err := asker(ctx, turn, sink)
			for i := range o.Questions {
				o.Questions[i].To = &lifecycle.Audience{Users: []string{"bob"}}
			}
			return o, err
		})
		s := newServer(t, client, func(c *ui.Config) { c.Streams = 1 })
		for _, c := range []struct {
			handler    http.Handler
			body, want string
		}{{s.Chat(), hello, `"finishReason":"other"`}, {s.AGUI(), helloThere, `"reason":"interlude:others"`}} {
			start, done := time.Now(), make(chan string)
			go func() { done <- ask(t, c.handler, "ada", "POST", "/", c.body).Body.String() }()
			synctest.Wait()
			require.Equal(t, http.StatusTooManyRequests, ask(t, c.handler, "ada", "POST", "/", c.body).Code)
			body := <-done
			require.Contains(t, body, c.want)
			require.Contains(t, body, "waits for bob")
			require.GreaterOrEqual(t, strings.Count(body, ": still here"), 3)
			require.WithinDuration(t, start.Add(ui.DefaultHold), time.Now(), time.Second)
			require.NotContains(t, body, "tool-input-available")
		}
		done := make(chan string)
		go func() { done <- ask(t, s.Chat(), "ada", "GET", "/chat/c/stream", "").Body.String() }()
		synctest.Wait()
		s.Close()
		require.NotContains(t, <-done, "finish")
	})
}

// P3: a vote is not the end of an approval, and the voter is not asked again.
func TestP3AVoteWaitsForOthers(t *testing.T) {
	client := host(t, approver)
	s := newServer(t, client, func(c *ui.Config) { c.Hold = time.Millisecond })
	body := ask(t, s.Chat(), "ada", "POST", "/chat", hello).Body.String()
	require.Contains(t, body, `"type":"tool-approval-request"`)
	require.Contains(t, body, "Risk: money", "the request names the risk")
	id := between(body, `"toolCallId":"`, `"`)
	answer := `{"id":"c","messages":[{"id":"a1","role":"assistant","parts":[{"type":"dynamic-tool","toolCallId":"` + id +
		`","state":"approval-responded","approval":{"id":"x","approved":true}}]}]}`
	for range 2 {
		body = ask(t, s.Chat(), "ada", "POST", "/chat", answer).Body.String()
		require.Contains(t, body, `"preliminary":true`)
		require.Contains(t, body, "waits for more votes (1 of 2)")
		require.NotContains(t, body, "tool-approval-request")
	}
	_, err := client.As(lifecycle.Actor{ID: "bob"}).Reply(t.Context(), strings.Split(id, ".")[0],
		lifecycle.Reply{ID: 1, Decision: lifecycle.Approve, AcceptRisk: true})
	require.NoError(t, err)
	body = ask(t, s.Chat(), "ada", "POST", "/chat", answer).Body.String()
	require.Contains(t, body, `"output":{"approved":true}`)
	require.Contains(t, body, `"delta":"approve"`)
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

// P5: the client's ids are names within the principal's own space.
func TestP5IDsReachNoOtherPersonsRun(t *testing.T) {
	client := host(t, asker)
	s := newServer(t, client, nil)
	id := between(ask(t, s.Chat(), "ada", "POST", "/chat", hello).Body.String(), `"toolCallId":"`, `"`)
	run := strings.Split(id, ".")[0]
	w := ask(t, s.Chat(), "eve", "POST", "/chat", hello)
	require.NotContains(t, w.Body.String(), run, "the same ids of eve are another chat")
	for _, foreign := range []string{id, strings.Replace(id, run, "ui-unknown", 1)} {
		w = ask(t, s.Chat(), "eve", "POST", "/chat", `{"id":"c","messages":[{"id":"a","role":"assistant","parts":[{
			"type":"tool-ask_user","toolCallId":"`+foreign+`","state":"output-available","output":"mine"}]}]}`)
		require.Contains(t, w.Body.String(), "There is no such run or question.")
		w = ask(t, s.AGUI(), "eve", "POST", "/agui", `{"threadId":"c","runId":"r","resume":[{"interruptId":"`+foreign+
			`","status":"resolved","payload":"mine"}]}`)
		require.Contains(t, w.Body.String(), `"code":"NOT_FOUND"`)
		w = ask(t, s.Chat(), "ada", "POST", "/chat", `{"id":"another chat","messages":[{"id":"a","role":"assistant",
			"parts":[{"type":"tool-ask_user","toolCallId":"`+foreign+`","state":"output-available","output":"mine"}]}]}`)
		require.Contains(t, w.Body.String(), "There is no such run or question.")
	}
	record, err := client.Question(t.Context(), run, 1)
	require.NoError(t, err)
	require.Empty(t, record.Resolution)
}

// P2: a message while several questions are open answers none; and the place of a message in its run is
// known from its metadata.
func TestP2AMessageIsNoGuess(t *testing.T) {
	client := host(t, func(ctx context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
		if len(turn.Answers) > 0 {
			return engine.Done(turn.Answers[0].Text + turn.Answers[1].Text), nil
		}
		question := engine.Question{Kind: engine.OpenText, Prompt: "What?", Wait: &lifecycle.Wait{End: time.Hour}}
		return engine.AskAll(question, question), sink.Message(ctx, engine.Message{Text: "two questions"})
	})
	s := newServer(t, client, nil)
	shown := ask(t, s.AGUI(), "ada", "POST", "/agui", helloThere).Body.String()
	require.NotContains(t, shown, "expiresAt", "the questions stay open after their time")
	body := ask(t, s.Chat(), "ada", "POST", "/chat", strings.Replace(hello, "m1", "m2", 1)).Body.String()
	require.Contains(t, body, "Several questions are open.")
	id := between(shown, `"interrupts":[{"id":"`, `"`)
	for last, texts := range map[string]int{`0`: 1, `1000`: 0} {
		body = ask(t, s.Chat(), "ada", "POST", "/chat", `{"id":"c","messages":[{"id":"a","role":"assistant","parts":[],
			"metadata":{"interlude":{"run":"`+strings.Split(id, ".")[0]+`","last_event":`+last+`}}}]}`).Body.String()
		require.Equal(t, texts, strings.Count(body, `"delta":"two questions"`), body)
		require.Equal(t, 2, strings.Count(body, `"type":"tool-input-available"`), body)
	}
}

// P2: an answer names what was shown. One to a question that has changed since is refused.
func TestP2AnAnswerNamesWhatWasShown(t *testing.T) {
	client := host(t, asker)
	s := newServer(t, client, nil)
	id := between(ask(t, s.AGUI(), "ada", "POST", "/agui", helloThere).Body.String(), `"interrupts":[{"id":"`, `"`)
	w := ask(t, s.AGUI(), "ada", "POST", "/agui", `{"threadId":"c","runId":"r","resume":[{"interruptId":"`+
		id[:len(id)-16]+strings.Repeat("0", 16)+`","status":"resolved","payload":"mine"}]}`)
	require.Contains(t, w.Body.String(), `"code":"QUESTION_CHANGED"`)
}

// P5: the host's Start decides about each run. Its errors stay in the log, except for a Fault.
func TestP5StartExplains(t *testing.T) {
	var got []ui.Message
	refuse := errors.New("open /secret/runs.db")
	s := newServer(t, host(t, asker), func(c *ui.Config) {
		c.Start = func(_ context.Context, caller lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			got = append(got, m)
			if m.Text == "panic" {
				panic(refuse)
			}
			return lifecycle.Spec{Prompt: m.Text, Submitter: caller.ID}, refuse
		}
	})
	body := ask(t, s.Chat(), "ada", "POST", "/chat", hello).Body.String()
	require.Contains(t, body, `"type":"error"`)
	require.NotContains(t, body, "secret")
	body = ask(t, s.Chat(), "ada", "POST", "/chat", strings.Replace(hello, "Hello?", "panic", 1)).Body.String()
	require.Contains(t, body, `"type":"error"`)
	refuse = front.Fault{Code: "FULL", Text: "No more today."}
	body = ask(t, s.AGUI(), "ada", "POST", "/agui", helloThere).Body.String()
	require.Contains(t, body, "No more today.")
	refuse = nil
	body = ask(t, s.AGUI(), "ada", "POST", "/agui", helloThere).Body.String()
	id := between(body, `"interrupts":[{"id":"`, `"`)
	body = ask(t, s.AGUI(), "ada", "POST", "/agui", `{"threadId":"c","runId":"r","resume":[{"interruptId":"`+id+
		`","status":"resolved","payload":"yes"}]}`).Body.String()
	require.Contains(t, body, `"result":"yes"`)
	ask(t, s.AGUI(), "ada", "POST", "/agui", strings.NewReplacer("m1", "m2", "Hello?", "More?").Replace(helloThere))
	last := got[len(got)-1]
	require.Equal(t, strings.Split(id, ".")[0], last.Previous)
	require.Equal(t, "c", last.Chat)
	require.True(t, json.Valid(last.Raw))
	body = ask(t, s.AGUI(), "ada", "POST", "/agui", strings.Replace(helloThere, "Hello?", "Changed", 1)).Body.String()
	require.Contains(t, body, `"code":"SPEC_CONFLICT"`, "a message that was edited")
	n := len(got)
	body = ask(t, s.AGUI(), "ada", "POST", "/agui", helloThere).Body.String()
	require.Contains(t, body, `"result":"yes"`, "a message that is sent again starts nothing")
	require.Len(t, got, n)
}

// P5: an invalid configuration is reported by its field.
func TestP5TheConfigurationIsChecked(t *testing.T) {
	client := host(t, asker)
	for field, c := range map[string]ui.Config{
		"Client":   {Identify: identify, Start: starts},
		"Identify": {Client: client, Start: starts},
		"Start":    {Client: client, Identify: identify},
		"Origins":  {Client: client, Identify: identify, Start: starts, Origins: []string{"example.com"}},
		"Hold":     {Client: client, Identify: identify, Start: starts, Hold: -1},
	} {
		_, err := ui.New(c)
		require.ErrorContains(t, err, field)
	}
}

// L1: a body that readers could understand differently is refused, and an answer with two meanings
// decides nothing. A body has a bounded number of values.
func TestL1ABodyWithTwoMeaningsIsRefused(t *testing.T) {
	client := host(t, func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(turn.Answers) > 0 {
			return engine.Done(string(turn.Answers[0].Decision)), nil
		}
		return engine.Ask(engine.Question{Kind: engine.Approval, Prompt: "Pay?",
			Subject: &engine.Subject{Tool: "pay"}}), nil
	})
	s := newServer(t, client, nil)
	for name, change := range map[string][2]string{
		"a member twice":            {`"messages":`, `"messages":[],"messages":`},
		"a member in another case":  {`"messages":`, `"Messages":[],"messages":`},
		"a text twice":              {`Hello?"`, `Hello?","text":"No"`},
		"half a surrogate pair":     {`Hello?`, `Hello? \ud800`},
		"invalid UTF-8":             {`Hello?`, "Hello? \xff"},
		"too many values":           {`"messages":[`, `"more":[` + strings.Repeat("[],", 100_000) + `[]],"messages":[`},
		"too many values in a part": {`"messages":[`, `"messages":[{"parts":[` + strings.Repeat("0,", 100_000) + `0]},`},
	} {
		for body, handler := range map[string]http.Handler{hello: s.Chat(), strings.Replace(helloThere,
			`"content":"Hello?"`, `"content":[{"type":"text","text":"Hello?"}]`, 1): s.AGUI()} {
			w := ask(t, handler, "ada", "POST", "/", strings.Replace(body, change[0], change[1], 1))
			require.Equal(t, http.StatusBadRequest, w.Code, "%s: %s", name, w.Body)
		}
	}
	runs, err := client.Runs(t.Context(), lifecycle.Query{})
	require.NoError(t, err)
	require.Empty(t, runs.Runs)

	id := between(ask(t, s.Chat(), "ada", "POST", "/chat", hello).Body.String(), `"toolCallId":"`, `"`)
	const both = `"approved":false,"Approved":true`
	body := ask(t, s.AGUI(), "ada", "POST", "/agui", `{"threadId":"c","runId":"r","resume":[{"interruptId":"`+id+
		`","status":"resolved","payload":{`+both+`}}]}`).Body.String()
	require.Contains(t, body, "INVALID_REPLY")
	ask(t, s.Chat(), "ada", "POST", "/chat", `{"id":"c","messages":[{"id":"a","role":"assistant","parts":[{
		"type":"dynamic-tool","toolCallId":"`+id+`","state":"approval-responded","approval":{`+both+`}}]}]}`)
	record, err := client.Question(t.Context(), strings.Split(id, ".")[0], 1)
	require.NoError(t, err)
	require.Empty(t, record.Resolution)
}

// L1: a client that announces a body and never sends it holds no connection.
func TestL1ABodyThatNeverArrivesHoldsNoConnection(t *testing.T) {
	for path, pick := range map[string]func(*ui.Server) http.Handler{
		"/agui":          (*ui.Server).AGUI,
		"/chat/c/stream": (*ui.Server).Chat,
	} {
		var requests []string
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS"} {
			for _, header := range []string{"", "Authorization: Bearer ada\r\n",
				"Authorization: Bearer ada\r\nSec-Fetch-Site: cross-site\r\n"} {
				requests = append(requests, method+" "+path+" HTTP/1.1\r\nHost: localhost\r\n"+header)
			}
		}
		fronttest.HoldsNoConnection(t, func(t *testing.T) http.Handler {
			return pick(newServer(t, host(t, asker), func(c *ui.Config) { c.Streams = len(requests) * 3 }))
		}, requests...)
	}
}

// L2: a function of the host that panics or exits its goroutine fails its request only, and the
// response has none of its texts.
func TestL2FunctionsOfTheHostFailTheirRequestOnly(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("/secret/runs.db") }, "exit": runtime.Goexit} {
		s := newServer(t, host(t, asker), func(c *ui.Config) {
			c.Identify = func(r *http.Request) (lifecycle.Actor, error) {
				if r.Header.Get("Authorization") == "Bearer eve" {
					fail()
				}
				return identify(r)
			}
			c.Start = func(_ context.Context, _ lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
				if m.Text == "Fail." {
					fail()
				}
				return lifecycle.Spec{Prompt: m.Text}, nil
			}
		})
		w := ask(t, s.Chat(), "eve", "POST", "/chat", hello)
		require.Equal(t, http.StatusInternalServerError, w.Code, name)
		require.NotContains(t, w.Body.String(), "secret")
		w = ask(t, s.Chat(), "ada", "POST", "/chat", strings.Replace(hello, "Hello?", "Fail.", 1))
		require.Contains(t, w.Body.String(), `"type":"error"`, name)
		require.NotContains(t, w.Body.String(), "secret")
		w = ask(t, s.AGUI(), "ada", "POST", "/agui", helloThere)
		require.Contains(t, w.Body.String(), `"interrupts":[{"id"`, name)
	}
}

// counting counts the events that are read from the store.
type counting struct {
	*memory.Store
	events atomic.Int64
}

func (c *counting) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	page, err := c.Store.Events(ctx, id, after, limit)
	c.events.Add(int64(len(page)))
	return page, err
}

// I5: an answer that is sent again after a long conversation does not read all of its events.
func TestI5ARepeatedAnswerReadsFewEvents(t *testing.T) {
	const rounds = 3000
	st := &counting{Store: memory.New()}
	client := hostOn(t, st, func(ctx context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
		if len(turn.Answers) > 0 {
			return engine.Done(turn.Answers[0].Text), nil
		}
		for range rounds {
			if err := sink.Message(ctx, engine.Message{Text: "thinking"}); err != nil {
				return engine.Outcome{}, err
			}
		}
		return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "What?"}), nil
	})
	s := newServer(t, client, nil)
	ask(t, s.Chat(), "ada", "POST", "/chat", hello)
	answer := strings.NewReplacer("m1", "m2", "Hello?", "tea").Replace(hello)
	first := ask(t, s.Chat(), "ada", "POST", "/chat", answer).Body.String()
	require.Contains(t, first, `"delta":"tea"`)
	st.events.Store(0)
	again := ask(t, s.Chat(), "ada", "POST", "/chat", answer).Body.String()
	require.Contains(t, again, `"delta":"tea"`)
	require.NotContains(t, again, "thinking")
	require.Less(t, st.events.Load(), int64(2*rounds/3))
}

// P4: an AG-UI client without messages gets the thread's newest messages in one snapshot of at most
// 1 MiB, and then the open question. Other clients keep their messages.
func TestP4AClientWithoutMessagesGetsASnapshot(t *testing.T) {
	agent := func(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.Question{Kind: engine.Approval, Prompt: "Pay?",
				Subject: &engine.Subject{Tool: "pay"}}), nil
		}
		for i := 0; t.Prompt == "Much." && i < 30; i++ {
			if err := sink.Message(ctx, engine.Message{Text: strings.Repeat("x", 50_000)}); err != nil {
				return engine.Outcome{}, err
			}
		}
		return engine.Done("Done: " + t.Prompt), nil
	}
	handler := newServer(t, host(t, agent), nil).AGUI()
	post := func(members object) (events []object) {
		body := object{"threadId": "c", "runId": "r", "messages": []object{}}
		maps.Copy(body, members)
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		for line := range strings.Lines(ask(t, handler, "ada", http.MethodPost, "/agui", string(raw)).Body.String()) {
			var e object
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				require.NoError(t, json.Unmarshal([]byte(data), &e))
				events = append(events, e)
			}
		}
		return events
	}
	types := func(events []object) (all []any) {
		for _, e := range events {
			if e["type"] != "CUSTOM" && e["type"] != "STATE_SNAPSHOT" {
				all = append(all, e["type"])
			}
		}
		return all
	}
	say := func(text string) object {
		return object{"messages": []object{{"id": text, "role": "user", "content": text}}}
	}
	interrupt := func(events []object) any {
		outcome, _ := events[len(events)-1]["outcome"].(object)
		return outcome["interrupts"].([]any)[0].(object)["id"]
	}
	approve := func(id any) object {
		more := say("First.")
		more["resume"] = []object{{"interruptId": id, "status": "resolved", "payload": object{"approved": true}}}
		return more
	}
	calls := []any{"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "RUN_FINISHED"}

	first := interrupt(post(say("First.")))
	post(approve(first))
	second := interrupt(post(say("Second.")))
	events := post(nil)
	require.Equal(t, append([]any{"RUN_STARTED", "MESSAGES_SNAPSHOT"}, calls...), types(events))
	messages, _ := events[1]["messages"].([]any)
	require.Len(t, messages, 3)
	call, result, text := messages[0].(object), messages[1].(object), messages[2].(object)
	require.Equal(t, first, call["toolCalls"].([]any)[0].(object)["id"])
	require.Equal(t, first, result["toolCallId"])
	require.Equal(t, "Done: First.", text["content"])
	require.NotContains(t, types(post(say("Second."))), "MESSAGES_SNAPSHOT", "the client has messages")
	state := events[len(events)-2]["snapshot"]
	require.NotContains(t, types(post(object{"state": state})), "MESSAGES_SNAPSHOT", "the client knows its place")

	post(approve(second))
	post(approve(interrupt(post(say("Much.")))))
	events = post(nil)
	messages, _ = events[1]["messages"].([]any)
	require.Len(t, messages, 1<<20/50_000+1) // large texts, and the end
	require.Equal(t, "Done: Much.", messages[len(messages)-1].(object)["content"])
}

// annsDeputies makes ada the deputy of ann.
type annsDeputies struct{}

func (annsDeputies) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	if id != "ada" {
		return nil, nil
	}
	return []lifecycle.Principal{{ID: "ann"}}, nil
}

// N10: a page asks a deputy with the name of the absent person, and shows later who has answered for
// whom.
func TestN10ADeputyReadsForWhom(t *testing.T) {
	pay := engine.Question{Kind: engine.Approval, Prompt: "Pay?", Subject: &engine.Subject{Tool: "pay"}}
	why := engine.Question{Kind: engine.OpenText, Prompt: "Why?"}
	for _, q := range []*engine.Question{&pay, &why} {
		q.To = &lifecycle.Audience{Users: []string{"ann"}}
	}
	client := hostOf(t, lifecycle.Config{Store: memory.New(), Directory: annsDeputies{}},
		func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(t.Answers) == 0 {
				return engine.AskAll(pay, why), nil
			}
			return engine.Done("paid"), nil
		})
	s := newServer(t, client, nil)
	said := ask(t, s.Chat(), "ada", http.MethodPost, "/chat", hello).Body.String()
	require.Contains(t, said, `"reason":"You answer for ann.\n\nPay?`)
	require.Contains(t, said, `"message":"You answer for ann.\n\nWhy?`)
	said = ask(t, s.AGUI(), "ada", http.MethodPost, "/agui", `{"threadId":"c","runId":"r","messages":[]}`).Body.String()
	require.Contains(t, said, `"message":"You answer for ann.\n\nPay?`)
	interrupt := between(said, `"interrupts":[{"id":"`, `"`)
	ask(t, s.AGUI(), "ada", http.MethodPost, "/agui", `{"threadId":"c","runId":"r","messages":[],"resume":[{"interruptId":"`+
		interrupt+`","status":"resolved","payload":{"approved":true}}]}`)
	said = ask(t, s.Chat(), "ada", http.MethodGet, "/chat/c/stream", "").Body.String()
	require.Contains(t, said, "Decided by ada for ann.")
	require.Contains(t, said, `"for":"ann"`)
}
