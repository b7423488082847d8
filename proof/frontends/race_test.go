package frontends_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

var (
	questions = flag.Int("questions", raced, "how many questions are raced for, on each store")
	atOnce    = flag.Int("at-once", 30, "how many of them at the same time")
	every     = flag.Int64("kill-every", killEvery, "a node is killed while it serves, once in so many requests; "+
		"0: never")
	commands = flag.Int("command-every", 6, "the command line takes part in one of so many races; 0: in none")
)

// stores runs the proof on each store.
func stores(t *testing.T, prove func(t *testing.T, store string)) {
	t.Helper()
	for _, name := range racedOn {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for deadlines and leases most of the time
			store := filepath.Join(t.TempDir(), "runs.db")
			if name == "postgresql" {
				store = pgtest.DSN(t)
			}
			prove(t, store)
		})
	}
}

// L1, N10: people, some of them deputies, race for one question through each front end, with its
// deadline and a cancel of its run, while nodes are killed and answers are lost: one wins, each loser
// learns who, and the record says for whom a deputy has answered.
func TestL1OneWinnerThroughWhateverFrontEnd(t *testing.T) {
	stores(t, func(t *testing.T, store string) {
		t.Helper()
		f, err := startFleet(node{Store: store, Cut: 20}, 2)
		require.NoError(t, err)
		defer f.stop()
		s, err := cast.OpenStore(t.Context(), store)
		require.NoError(t, err)
		defer s.Close()
		client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Authorize: authorize})
		require.NoError(t, err)
		defer client.Close()
		w, err := newWorld(client, f.address)
		require.NoError(t, err)
		if *commands > 0 {
			w.command = buildProgram(t, store)
		}
		var killing sync.WaitGroup
		w.sent = func(n int64) {
			if *every > 0 && n%*every == 0 {
				killing.Go(f.killOne)
			}
		}
		refused, err := w.race(t.Context(), *questions, *atOnce)
		killing.Wait()
		killed := f.stop()
		require.NoError(t, errors.Join(err, f.failure()))
		require.Empty(t, refused)
		require.Equal(t, *every > 0, killed > 0, "%d nodes were killed", killed)
		t.Logf("%d questions, %d requests, %d nodes killed, %d calls of unknown outcome; they were won by %v",
			*questions, w.requests.Load(), killed, w.unknown.Load(), w.winners)
		if w.command != nil {
			t.Logf("of the command line, %d replies were accepted, %d came too late, %d processes were killed",
				w.command.accepted.Load(), w.command.late.Load(), w.command.killed.Load())
		}
	})
}

// world has the people, who reach the nodes over HTTP, one with a Go client.
type world struct {
	client  *lifecycle.Client
	links   *link.Links
	address func() string // of some node; empty while none serves
	sent    func(n int64) // is called after each POST, with their number
	http    *http.Client
	command *commandLine // nil: not used
	endless bool         // no question has an end

	requests atomic.Int64
	unknown  atomic.Int64

	mu      sync.Mutex
	winners map[string]int // guarded by mu
	refused []string       // guarded by mu; the questions whose history could not have happened
}

func newWorld(client *lifecycle.Client, address func() string) (*world, error) {
	links, err := newLinks(client)
	return &world{client: client, links: links, address: address, sent: func(int64) {},
		http:    &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 10 * time.Second},
		winners: make(map[string]int)}, err
}

// race races for so many questions, and returns the histories that could not have happened. It ends
// with the first of them.
func (w *world) race(ctx context.Context, total, atOnce int) ([]string, error) {
	defer w.http.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range total {
		if ctx.Err() != nil || w.anyRefused() {
			break
		}
		group.Go(func() error { return w.raceFor(ctx, i) })
	}
	err := group.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused, err
}

func (w *world) anyRefused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.refused) > 0
}

// asked is a question that was asked.
type asked struct {
	run string
	lifecycle.Question
}

// raceFor submits a run, lets everybody race for its question, and judges their answers.
func (w *world) raceFor(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	// As if hana had started it by a tool's call. It is also in a chat of ivan.
	id := front.NewRunID("hana", "mcp")
	q, err := w.ask(ctx, id)
	if err != nil {
		return err
	}
	h := new(history)
	frontEnds := w.frontEnds(n)
	var lead time.Duration // of who takes longest until the request is made
	for _, d := range frontEnds {
		lead = max(lead, d.lead)
	}
	moment := time.Now().Add(lead)
	if !q.EndsAt.IsZero() { // they come when the time is over
		moment = q.EndsAt
		h.start(0, call{callDeadline, string(lifecycle.AutoDecideTimeout)})
	}
	var people sync.WaitGroup
	spread := []time.Duration{time.Millisecond, 10 * time.Millisecond, 60 * time.Millisecond}[sample.N(3)]
	spread = max(spread, lead) // which is no more than a guess
	for i, d := range frontEnds {
		if d.kind == callCancel && sample.N(3) > 0 {
			continue
		}
		people.Go(func() {
			cast.Pause(ctx, time.Until(moment)-d.lead+sample.N(spread)-spread/8)
			end := h.start(i+1, d.call)
			out := d.use(ctx, q)
			end(out)
			if out.unknown {
				w.unknown.Add(1)
			}
		})
	}
	people.Wait()
	h.start(0, call{kind: callRead})(w.read(ctx, q))
	return w.judge(ctx, id, h)
}

// ask submits a run, and returns its question once it is asked. Half of the questions are decided
// automatically after a second. Half are for named people, so that bob and carl answer as deputies.
func (w *world) ask(ctx context.Context, id string) (asked, error) {
	key, chat := ui.Label("ivan", id)
	spec := lifecycle.Spec{ID: id, Prompt: "Go.", MaxRepeats: 1_000_000, MaxAutoDecisions: 1,
		Labels: map[string]string{key: chat}}
	spec.Ask = &lifecycle.AskPolicy{}
	if !w.endless && sample.N(2) == 0 {
		spec.Ask.Wait = &lifecycle.Wait{End: time.Second, Then: lifecycle.ThenDecide}
	}
	if sample.N(2) == 0 {
		spec.Ask.To = &lifecycle.Audience{Users: []string{"ann", "ada", "dora", "gina", "hana", "ivan", "judy"}}
	}
	if _, err := w.client.Submit(ctx, spec); err != nil {
		return asked{}, err
	}
	for event, err := range w.client.Events(ctx, id, 0) {
		if err != nil {
			return asked{}, err
		}
		if event.Type == lifecycle.TypeInputRequired {
			break
		}
	}
	records, err := w.client.History(ctx, id)
	if err != nil || len(records) != 1 {
		return asked{}, fmt.Errorf("%s has %d questions: %w", id, len(records), err)
	}
	return asked{id, records[0].Question}, nil
}

// judge waits for the end of the run, and adds the final state.
func (w *world) judge(ctx context.Context, id string, h *history) error {
	run, err := w.client.Wait(ctx, id)
	if err != nil {
		return err
	}
	records, err := w.client.History(ctx, id)
	if err != nil {
		return err
	}
	wrong := ""
	if len(records) != 1 {
		return fmt.Errorf("%s has %d questions", id, len(records))
	}
	won := winnerOf(&records[0])
	h.start(0, call{kind: callEnd})(outcome{winner: won, done: run.State == lifecycle.StateCanceled})
	if run.State == lifecycle.StateSucceeded && run.FinalText != records[0].Response {
		wrong = fmt.Sprintf("\n\tthe agent was answered %q, and the history says %q", run.FinalText,
			records[0].Response)
	}
	by, deputy := records[0].Actor, ""
	if records[0].Question.To != nil && (by == "bob" || by == "carl") {
		deputy = "ann"
	}
	if got := records[0].For(); got != deputy {
		wrong += fmt.Sprintf("\n\t%s has answered for %q, and not for %q", by, got, deputy)
	}
	wrong += h.judge()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.winners[won]++
	if wrong != "" {
		w.refused = append(w.refused, id+": "+wrong)
	}
	return nil
}

// winnerOf returns the winner from a record.
func winnerOf(r *lifecycle.Record) string { return winner(string(r.Resolution), r.Actor) }

func winner(resolution, actor string) string { return strings.TrimSpace(resolution + " " + actor) }

// frontEnd is a way to a question, and who takes it.
type frontEnd struct {
	call
	use  func(ctx context.Context, q asked) outcome
	lead time.Duration // how long it takes until the request is made
}

// frontEnds returns the front ends of the nth race.
func (w *world) frontEnds(n int) []frontEnd {
	reply := func(person string) call { return call{callReply, winner(string(lifecycle.UserReply), person)} }
	all := []frontEnd{
		{reply("ada"), w.overAPI, 0}, {reply("bob"), w.onPage, 0}, {reply("carl"), w.byLink, 0},
		{reply("dora"), w.fromGo, 0}, {reply("hana"), w.overMCP, 0},
		{reply("judy"), w.inSlack, 0},
		{call{kind: callCancel}, w.cancel, 0}, {call{kind: callRead}, w.read, 0},
	}
	chat := frontEnd{reply("ivan"), w.inAGUI, 0}
	if n%2 == 0 {
		chat.use = w.inUseChat
	}
	all = append(all, chat)
	if w.command != nil && n%*commands == 0 {
		all = append(all, frontEnd{reply("gina"), w.command.reply, time.Duration(w.command.lead.Load())})
	}
	return all
}

// patience limits how long a request is repeated after its answer was lost.
const patience = time.Minute

// request repeats a request until it is answered; lost reports whether an answer was lost before.
// Answered is nil if it never was.
func (w *world) request(ctx context.Context, method, path string, header http.Header, body string) (answered *answer,
	lost bool,
) {
	for until := time.Now().Add(patience); time.Now().Before(until) && ctx.Err() == nil; {
		address := w.address()
		if address == "" {
			cast.Pause(ctx, 5*time.Millisecond)
			continue
		}
		a, err := w.send(ctx, method, address+path, header, body)
		if err == nil && a.status < http.StatusInternalServerError {
			return a, lost
		}
		lost = true
		cast.Pause(ctx, sample.N(5*time.Millisecond))
	}
	return nil, lost
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (w *world) send(ctx context.Context, method, address string, header http.Header, body string) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header.Clone()
	r.GetBody = nil // http.Transport would make a request again by itself
	if method == http.MethodPost {
		defer w.sent(w.requests.Add(1))
	}
	res, err := w.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &answer{status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(res.Body)
	return a, err
}

func (a *answer) problem() (p web.Problem) {
	_ = json.Unmarshal(a.body, &p) // other bodies have no code
	return p
}

// wrong is an outcome that no history allows.
func wrong(format string, args ...any) outcome {
	return outcome{winner: "?! " + fmt.Sprintf(format, args...)}
}

func path(q asked, rest string) string { return "/interlude/api/runs/" + url.PathEscape(q.run) + rest }

// reply is the outcome of a reply over the API.
func (w *world) reply(ctx context.Context, q asked, header http.Header, body string) outcome {
	header.Set("Content-Type", "application/json")
	header.Set("Idempotency-Key", strconv.FormatUint(rand.Uint64(), 36))
	a, _ := w.request(ctx, http.MethodPost, path(q, "/questions/1/reply"), header, body)
	switch {
	case a == nil:
		return outcome{unknown: true}
	case a.status == http.StatusCreated || a.status == http.StatusOK:
		return outcome{done: true}
	}
	p := a.problem()
	if p.Code != "SETTLED" || p.Settled == nil {
		return wrong("%d %s", a.status, a.body)
	}
	return outcome{winner: winner(p.Settled.Resolution, p.Settled.Actor)}
}

// overAPI is a program with a token.
func (w *world) overAPI(ctx context.Context, q asked) outcome {
	return w.reply(ctx, q, http.Header{"Authorization": {"Bearer ada"}}, `{"text":"ada was"}`)
}

// onPage sends a reply as the page does: with a session, the origin and the digest.
func (w *world) onPage(ctx context.Context, q asked) outcome {
	deputy := ""
	if q.To != nil {
		deputy = `,"for":"ann"`
	}
	return w.reply(ctx, q, http.Header{"Cookie": {"session=bob"}, "Sec-Fetch-Site": {"same-origin"}},
		`{"text":"bob was","seen":"`+q.Digest()+`"`+deputy+`}`)
}

// toolResult is the result of an MCP tool, or its request for input.
type toolResult struct {
	Result struct {
		Content      []struct{ Text string }
		IsError      bool
		RequestState string
		Structured   json.RawMessage `json:"structuredContent"`
	}
	Error *struct{ Code int }
}

// callMCP calls the tool that waits for the run; more are further members of its parameters. It is
// nil if the outcome is unknown.
func (w *world) callMCP(ctx context.Context, q asked, more string) *toolResult {
	const revision = "2026-07-28"
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"run_id":"` + q.run +
		`"}` + more + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revision +
		`","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	header := http.Header{"Authorization": {"Bearer hana"}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {revision},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"wait"}}
	for ctx.Err() == nil {
		a, _ := w.request(ctx, http.MethodPost, "/mcp", header, body)
		if a == nil {
			return nil
		}
		text := string(a.body)
		if i := strings.LastIndex(text, "data: "); i >= 0 {
			text = text[i+len("data: "):]
		}
		r := new(toolResult)
		if json.Unmarshal([]byte(text), r) == nil && r.Error == nil {
			return r
		}
		cast.Pause(ctx, sample.N(5*time.Millisecond)) // the node is being killed
	}
	return nil
}

// overMCP is a person at an MCP client, whose call is repeated with the answer. The result is the
// agent's, which ends with the text of the answer that counts.
func (w *world) overMCP(ctx context.Context, q asked) outcome {
	r := w.callMCP(ctx, q, "")
	if r != nil && r.Result.RequestState != "" {
		r = w.callMCP(ctx, q, `,"requestState":"`+r.Result.RequestState+
			`","inputResponses":{"1":{"action":"accept","content":{"answer":"hana was"}}}`)
	}
	if r == nil || r.Result.IsError || r.Result.Structured != nil || len(r.Result.Content) != 1 {
		return outcome{unknown: true} // it is not over, or the run was canceled, before or after an answer
	}
	return resultOf(r.Result.Content[0].Text, "hana")
}

var settledBy = regexp.MustCompile(`<p>(.*)</p>\s*<p>(?:By <strong>(.*)</strong>, )?<time`)

// byLink presses the button on the page of a link.
func (w *world) byLink(ctx context.Context, q asked) outcome {
	address, err := w.links.For(q.run, q.Question, link.To("carl"))
	if err != nil {
		return wrong("%v", err)
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	a, _ := w.request(ctx, http.MethodPost, strings.TrimPrefix(address, "http://desk.example.com"), header,
		url.Values{"text": {"carl was"}}.Encode())
	switch {
	case a == nil:
		return outcome{unknown: true}
	case a.status == http.StatusOK && bytes.Contains(a.body, []byte("Thank you")):
		return outcome{done: true}
	}
	said := settledBy.FindSubmatch(a.body)
	if a.header.Get("Interlude-Reason") != string(link.Settled) || said == nil {
		return wrong("%d %s", a.status, a.body)
	}
	resolution := map[string]lifecycle.Resolution{
		"Its run has ended; no answer is needed.":                       lifecycle.Abandoned,
		"There was no answer in time, so it was decided automatically.": lifecycle.AutoDecideTimeout,
		"It was answered.": lifecycle.UserReply,
	}[string(said[1])]
	return outcome{winner: winner(string(resolution), string(said[2]))}
}

// fromGo is a Go program with a separate client.
func (w *world) fromGo(ctx context.Context, q asked) outcome {
	cast.Pause(ctx, sample.N(4*time.Millisecond)) // the other requests are in flight
	c := w.client.As(lifecycle.Actor{ID: "dora"})
	_, err := c.Reply(ctx, q.run, lifecycle.Reply{ID: q.ID, Text: "dora was"})
	switch {
	case err == nil:
		return outcome{done: true}
	case !errors.Is(err, lifecycle.ErrSettled):
		return wrong("%v", err)
	}
	records, err := c.History(ctx, q.run)
	if err != nil {
		return wrong("%v", err)
	}
	return outcome{winner: winnerOf(&records[0])}
}

// cancel ends the run. Who makes the request again after a lost answer may find that it was done.
func (w *world) cancel(ctx context.Context, q asked) outcome {
	a, lost := w.request(ctx, http.MethodPost, path(q, "/cancel"), http.Header{"Authorization": {"Bearer erin"}}, "")
	switch {
	case a == nil:
		return outcome{unknown: true}
	case a.status == http.StatusNoContent:
		return outcome{done: true}
	}
	p := a.problem()
	if p.Code != "RUN_TERMINAL" {
		return wrong("%d %s", a.status, a.body)
	}
	return outcome{done: lost && p.State == string(lifecycle.StateCanceled)}
}

// read looks who has won.
func (w *world) read(ctx context.Context, q asked) outcome {
	a, _ := w.request(ctx, http.MethodGet, path(q, "/history"), http.Header{"Authorization": {"Bearer frank"}}, "")
	if a == nil {
		return outcome{unknown: true}
	}
	var h web.History
	if err := json.Unmarshal(a.body, &h); err != nil || len(h.Records) != 1 {
		return wrong("%d %s", a.status, a.body)
	}
	return outcome{winner: winner(h.Records[0].Resolution, h.Records[0].Actor)}
}
