//go:build search

package protocols_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

var randomRuns = flag.Int("random-runs", 1000, "how many random runs are streamed to the protocols' validators")

// streams serves chats, and writes the streams that it reads into a file.
type streams struct {
	*desk

	url  string
	file *os.File
}

func newStreams(t *testing.T, client *lifecycle.Client) *streams {
	t.Helper()
	server, err := ui.New(ui.Config{Client: client, Identify: identify, Hold: 5 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
		Start: func(_ context.Context, _ lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			return lifecycle.Spec{Prompt: m.Text}, nil
		}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/chat/", server.Chat())
	mux.Handle("/agui", server.AGUI())
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Cleanup(server.Close)
	file, err := os.Create(filepath.Join(t.TempDir(), "streams"))
	require.NoError(t, err)
	return &streams{newDesk(t, "ui"), s.URL, file}
}

// read makes a request and writes its stream.
func (s *streams) read(name, protocol, method, path string, body object) (events []object) {
	s.Helper()
	raw, err := json.Marshal(body)
	require.NoError(s, err)
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, bytes.NewReader(raw))
	require.NoError(s, err)
	r.Header.Set("Authorization", "Bearer ada")
	res, err := http.DefaultClient.Do(r)
	require.NoError(s, err)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	require.NoError(s, err)
	require.Equal(s, http.StatusOK, res.StatusCode, "%s", all)
	for lines := bufio.NewScanner(bytes.NewReader(all)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var event object
		require.NoError(s, json.Unmarshal([]byte(data), &event))
		events = append(events, event)
	}
	s.write(name, protocol, events)
	return events
}

func (s *streams) write(name, protocol string, events []object) {
	s.Helper()
	line, err := json.Marshal(object{"name": name, "protocol": protocol, "events": events})
	require.NoError(s, err)
	_, err = s.file.Write(append(line, '\n'))
	require.NoError(s, err)
}

// agui is a request of an AG-UI client with the state of the last stream.
func (s *streams) agui(name, thread string, state any, more object) (events []object, next any) {
	s.Helper()
	body := object{"threadId": thread, "runId": "r", "messages": []object{}, "state": state}
	for k, v := range more {
		body[k] = v
	}
	events = s.read(name, "agui", http.MethodPost, "/agui", body)
	for _, e := range events {
		if e["type"] == "STATE_SNAPSHOT" {
			state = e["snapshot"]
		}
	}
	return events, state
}

// verify runs the validators of the protocols' publishers.
func (s *streams) verify() (verified object) {
	s.Helper()
	require.NoError(s, s.file.Close())
	verified = s.execute("verify.mjs", s.file.Name()).next()
	require.Nil(s, verified["failed"], "%v", verified)
	return verified
}

// P4: the validators refuse violations of the protocol.
func TestP4ValidatorsRefuse(t *testing.T) {
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: memory.New()})
	require.NoError(t, err)
	defer client.Close()
	started := object{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
	for protocol, streams := range map[string][][]object{
		"agui": {{started}, {{"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}},
			{started, {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d"},
				{"type": "RUN_ERROR", "message": ""}},
			{started, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": object{"type": "interrupt"}}}},
		"aisdk": {{{"type": "unknown"}}, {{"type": "text-delta", "id": "1", "delta": "d"}},
			{{"type": "tool-output-available", "toolCallId": "1", "output": 1}}},
	} {
		for _, events := range streams {
			s := newStreams(t, client)
			s.write("wrong", protocol, events)
			require.NoError(t, s.file.Close())
			require.NotNil(t, s.execute("verify.mjs", s.file.Name()).next()["failed"], "%v", events)
		}
	}
}

// P4: the validators accept the streams of random runs.
func TestP4ValidatorsAcceptRandomRuns(t *testing.T) {
	lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Engine: engine.Func(random),
		Logger: slog.New(slog.DiscardHandler), Poll: time.Second,
		Pools: []lifecycle.Pool{{Name: lifecycle.DefaultPool, Capacity: 8}}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-served)
	}()
	s := newStreams(t, lc.Client)
	host := lc.As(lifecycle.Actor{ID: "bob", Groups: []string{"finance"}, Via: "web"})
	for n := range *randomRuns {
		chance := rand.New(rand.NewPCG(uint64(n), 1))
		name := "run " + strconv.Itoa(n)
		thread := "t" + strconv.Itoa(n)
		said := object{"messages": []object{{"id": "m", "role": "user", "content": strconv.Itoa(n)}}}
		events, state := s.agui(name, thread, nil, said)
		for range 100 {
			end := events[len(events)-1]
			outcome, _ := end["outcome"].(object)
			if outcome["type"] != "interrupt" && end["code"] != "INVALID_REPLY" && end["code"] != "SETTLED" {
				break
			}
			if chance.IntN(4) == 0 {
				s.read(name, "aisdk", http.MethodGet, "/chat/"+thread+"/stream", nil)
			}
			s.elsewhere(host, state, chance)
			events, state = s.agui(name, thread, state, object{"resume": answers(end, chance)})
		}
		s.read(name, "aisdk", http.MethodGet, "/chat/"+thread+"/stream", nil)
		s.agui(name+" replayed", thread, nil, nil)
	}
	verified := s.verify()
	t.Logf("accepted streams: %v", verified)
	require.Greater(t, verified["agui"], float64(2**randomRuns))
}

// elsewhere answers questions for others, and sometimes another one, in another front end.
func (s *streams) elsewhere(bob *lifecycle.Client, state any, chance *rand.Rand) {
	s.Helper()
	at, _ := state.(object)
	run, err := bob.Get(s.Context(), fmt.Sprint(at["run"]))
	if err != nil {
		return // the stream ended before there was a state
	}
	for _, q := range run.Open {
		if q.To == nil && chance.IntN(6) > 0 {
			continue
		}
		reply := lifecycle.Reply{ID: q.ID, Text: "no"}
		switch {
		case q.Subject != nil:
			reply = lifecycle.Reply{ID: q.ID, Decision: lifecycle.Reject}
		case len(q.Schema) > 0:
			reply = lifecycle.Reply{ID: q.ID, Value: json.RawMessage(`{"name":"bob"}`)}
		case len(q.Options) > 0:
			reply.Text = q.Options[0].Value
		}
		_, err := bob.Reply(s.Context(), run.ID, reply)
		require.NoError(s, err)
	}
}

// answers addresses each interrupt at the end of a stream; some answers are invalid.
func answers(end object, chance *rand.Rand) (all []object) {
	outcome, _ := end["outcome"].(object)
	for _, i := range list(outcome, "interrupts") {
		entry := object{"interruptId": i["id"], "status": "cancelled"}
		reason, _ := i["reason"].(string)
		if !strings.HasPrefix(reason, "interlude:") && chance.IntN(5) > 0 {
			entry["status"] = "resolved"
			entry["payload"] = object{"approved": chance.IntN(2) == 0, "answer": "a", "name": "ada"}
			if chance.IntN(8) == 0 {
				entry["payload"] = []int{}
			}
		}
		all = append(all, entry)
	}
	return all
}

// random is an agent whose turns depend on the prompt and the attempt only.
func random(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	seed, err := strconv.ParseUint(t.Prompt, 10, 64)
	if err != nil {
		return engine.Outcome{}, err
	}
	chance := rand.New(rand.NewPCG(seed, uint64(t.Attempt)))
	for range chance.IntN(3) {
		if err := sink.Message(ctx, engine.Message{Text: "working \n\n on <it> \u2028 …"}); err != nil {
			return engine.Outcome{}, err
		}
	}
	if chance.IntN(6) == 0 {
		if err := sink.Warn(ctx, engine.Diagnostic{Code: "ODD"}); err != nil {
			return engine.Outcome{}, err
		}
	}
	switch end := chance.IntN(10); {
	case end == 0:
		return engine.Outcome{}, fmt.Errorf("the agent fails")
	case end < 3 || t.Attempt > 6:
		return engine.Done("done"), nil
	}
	var all []engine.Question
	for range 1 + chance.IntN(3) {
		q := []engine.Question{
			{Kind: engine.OpenText, Prompt: "What?"},
			{Kind: engine.ChooseOne, Prompt: "Which?", Options: []engine.Option{{Label: "A", Value: "a"},
				{Label: "B", Value: "b"}}},
			engine.ConfirmOf("Really?"),
			form("Who?", "name", "string"),
			{Kind: engine.Approval, Prompt: "Pay?", Subject: &engine.Subject{Tool: "pay", Title: "Pay", Risk: "money",
				Arguments: json.RawMessage(`{"cents": 9007199254740993, "to": "<b>"}`)}},
			{Kind: engine.Approval, Prompt: "Stop?", Subject: &engine.Subject{Tool: "stop"}},
		}[chance.IntN(6)]
		if chance.IntN(5) == 0 {
			q.To = &interaction.Audience{Groups: []string{"finance"}}
		}
		all = append(all, q)
	}
	return engine.AskAll(all...), nil
}

// P4: the validators accept the streams of each run in the contract's logs, at each moment at which it
// waits or has ended.
func TestP4ValidatorsAcceptTheGoodLogs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "contract", "testdata", "good", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	shown := &logStore{Store: memory.New()}
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: shown, Poll: time.Millisecond,
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer client.Close()
	s := newStreams(t, client)
	for _, file := range files {
		for run, events := range readLog(t, file) {
			shown.events, shown.upTo = events, 0
			var state any
			for shown.next() {
				name := fmt.Sprintf("%s, %s, event %d", filepath.Base(file), run, shown.upTo)
				_, state = s.agui(name, "t", state, nil)
				s.agui(name+" replayed", "t", nil, nil)
				s.read(name, "aisdk", http.MethodGet, "/chat/t/stream", nil)
			}
		}
	}
	verified := s.verify()
	t.Logf("accepted streams: %v", verified)
	require.Greater(t, verified["agui"], float64(200))
}

func readLog(t *testing.T, file string) map[string][]lifecycle.Event {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	runs := make(map[string][]lifecycle.Event)
	for line := range bytes.Lines(raw) {
		e, err := fcmp.Decode(bytes.TrimSpace(line))
		require.NoError(t, err)
		runs[e.RunID] = append(runs[e.RunID], e)
	}
	return runs
}

// logStore shows the run of a log as it was after some of its events.
type logStore struct {
	store.Store

	events []lifecycle.Event
	upTo   int
}

// next moves to the next moment at which the run waits or has ended.
func (l *logStore) next() bool {
	for l.upTo < len(l.events) {
		l.upTo++
		run, _ := l.state()
		asks := l.upTo < len(l.events) && l.events[l.upTo].Type == lifecycle.TypeInputRequired
		if run.State.Terminal() || len(run.Open) > 0 && !asks {
			return true
		}
	}
	return false
}

func (l *logStore) state() (run store.Run, records map[int]interaction.Record) {
	key, value := ui.Label("ada", "t")
	run = store.Run{ID: l.events[0].RunID, Version: uint64(l.upTo), State: lifecycle.StateQueued,
		Labels: map[string]string{key: value}}
	records = make(map[int]interaction.Record)
	for _, e := range l.events[:l.upTo] {
		run.Seq, run.Attempt = e.Seq, e.Meta.Attempt
		var d struct {
			fcmp.InputRequired

			To             string         `json:"to"`
			Terminal       *fcmp.Terminal `json:"terminal"`
			ResolutionMode string         `json:"resolution_mode"`
			Actor          string         `json:"actor"`
			Decision       string         `json:"decision"`
		}
		_ = e.Decode(&d) // "to" of a question is no text
		switch e.Type {
		case lifecycle.TypeStateChanged:
			run.State = lifecycle.State(d.To)
			if d.Terminal != nil && d.Terminal.Error != nil {
				run.Error = &store.Failure{Code: lifecycle.Code(d.Terminal.Error.Code),
					Message: d.Terminal.Error.Message}
			}
		case lifecycle.TypeInputRequired:
			var asked fcmp.InputRequired
			_ = e.Decode(&asked)
			run.Open = append(run.Open, question(&asked, e.Meta.Attempt))
			run.Interactions = max(run.Interactions, asked.InteractionID)
		case lifecycle.TypeReplyAccepted, lifecycle.TypeAutoDecided, lifecycle.TypeRecorded, lifecycle.TypeClosed,
			lifecycle.TypeDefaultTaken:
			for i, q := range run.Open {
				if q.ID == d.InteractionID && d.ResolutionMode != "vote" {
					records[q.ID] = interaction.Record{Question: q, Actor: d.Actor, Response: "text",
						Resolution: interaction.Resolution(d.ResolutionMode),
						Decision:   interaction.Decision(d.Decision)}
					run.Open = append(run.Open[:i:i], run.Open[i+1:]...)
					break
				}
			}
		}
		if run.State != lifecycle.StateWaitingUser {
			for _, q := range run.Open {
				records[q.ID] = interaction.Record{Question: q, Resolution: interaction.Abandoned}
			}
			run.Open = nil
		}
	}
	return run, records
}

func question(asked *fcmp.InputRequired, attempt int) interaction.Question {
	q := interaction.Question{ID: asked.InteractionID, Attempt: attempt, Kind: interaction.Kind(asked.Kind),
		Prompt: asked.Prompt, Context: asked.Context, Only: asked.Only, AlsoText: asked.AlsoText,
		Need: int8(asked.Need), Rejects: int8(asked.Rejects), RequiredFields: asked.RequiredFields,
		Schema: json.RawMessage(asked.Schema)}
	for _, o := range asked.Options {
		q.Options = append(q.Options, interaction.Option{Label: o.Label, Value: o.Value})
	}
	if s := asked.Subject; s != nil {
		q.Subject = &interaction.Subject{Tool: s.Tool, Arguments: json.RawMessage(s.Arguments), Title: s.Title,
			Risk: s.Risk}
	}
	if to := asked.To; to != nil {
		q.To = &interaction.Audience{Everybody: to.Everybody, Users: to.Users, Groups: to.Groups, Except: to.Except}
	}
	return q
}

func (l *logStore) Run(_ context.Context, id string) (store.Run, error) {
	run, _ := l.state()
	if run.ID != id {
		return store.Run{}, store.ErrNotFound
	}
	return run, nil
}

func (l *logStore) Runs(context.Context, store.Query) (store.Page, error) {
	run, _ := l.state()
	return store.Page{Runs: []store.Run{run}}, nil
}

func (l *logStore) Events(_ context.Context, _ string, after uint64, limit int) (all []store.Event, _ error) {
	for _, e := range l.events[:l.upTo] {
		if e.Seq <= after || len(all) == limit {
			continue
		}
		body, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		all = append(all, store.Event{Seq: e.Seq, Body: body})
	}
	return all, nil
}

func (l *logStore) Interaction(_ context.Context, _ string, n int) (interaction.Record, error) {
	_, records := l.state()
	if r, ok := records[n]; ok {
		return r, nil
	}
	return interaction.Record{}, store.ErrNotFound
}
