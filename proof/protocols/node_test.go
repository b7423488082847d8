package protocols_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

func TestMain(m *testing.M) {
	cast.ServeHost(func(ctx context.Context, n node) error { return n.serve(ctx) })
	if len(os.Args) > 2 && os.Args[1] == "stdio" {
		if err := serveStdio(os.Args[2]); err != nil {
			slog.Error("stdio", "err", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// node is a process that executes runs and serves the protocols.
type node struct {
	Store   string
	Address string // empty: any
}

// serve writes its address to its standard output.
func (n node) serve(ctx context.Context) error {
	lc, server, err := n.open(ctx)
	if err != nil {
		return err
	}
	calls, err := server.Handler()
	if err != nil {
		return err
	}
	chats, err := newChats(lc.Client)
	if err != nil {
		return err
	}
	handler := http.NewServeMux()
	handler.Handle("/mcp", calls)
	handler.Handle("/chat", chats.Chat())
	handler.Handle("/chat/", chats.Chat())
	handler.Handle("/agui", chats.AGUI())
	address := n.Address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	h := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { failed <- h.Serve(listener) }()
	_, _ = os.Stdout.WriteString(listener.Addr().String() + "\n")
	served := lc.Serve(ctx)
	return errors.Join(served, h.Close(), ignoreClosed(<-failed))
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// serveStdio is the main function of a child process of a client.
func serveStdio(store string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	lc, server, err := node{Store: store}.open(ctx)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	err = server.ServeStdio(ctx, lifecycle.Actor{ID: "ada"}, os.Stdin, os.Stdout)
	stop()
	return errors.Join(err, <-served)
}

func (n node) open(ctx context.Context) (*lifecycle.Lifecycle, *mcp.Server, error) {
	s, err := cast.OpenStore(ctx, n.Store)
	if err != nil {
		return nil, nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: engine.Func(agent), OnInterrupt: lifecycle.Repeat,
		Poll: 50 * time.Millisecond, Lease: time.Minute, Logger: quiet})
	if err != nil {
		return nil, nil, err
	}
	server, err := mcp.New(mcp.Config{Client: lc.Client, Tools: tools(), Identify: identify, Logger: quiet,
		Hold: 10 * time.Second, Poll: 100 * time.Millisecond, Name: "proof", Version: "1"})
	return lc, server, err
}

// newChats serves chat pages. The text of a message names the tool.
func newChats(client *lifecycle.Client) (*ui.Server, error) {
	return ui.New(ui.Config{Client: client, Identify: identify, Hold: time.Second,
		Logger: slog.New(slog.DiscardHandler),
		Start: func(_ context.Context, _ lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			input, err := json.Marshal(arguments{Tool: m.Text})
			return lifecycle.Spec{Input: input}, err
		}})
}

// identify takes callers at their word; the conformance suite has no sign-in.
func identify(r *http.Request) (lifecycle.Actor, error) {
	person, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		person = "suite"
	}
	return lifecycle.Actor{ID: person}, nil
}

// fixture is a tool and its agent.
type fixture struct {
	serve  mcp.Serve
	schema string // of the arguments; empty: none
	key    string // of its requests for input; empty: numbers
	act    func(ctx context.Context, t engine.Turn, a arguments) (engine.Outcome, error)
}

// arguments are the arguments of all tools.
type arguments struct {
	Tool    string          `json:"tool"`
	Name    string          `json:"name"`
	Seconds float64         `json:"seconds"`
	Given   json.RawMessage `json:"given"`

	sink engine.Sink
}

func tools() (all []mcp.Tool) {
	for name, f := range fixtures {
		t := mcp.Tool{Name: name, Description: "A tool of the proof: " + name + ".", Serve: f.serve,
			Spec: func(_ context.Context, _ lifecycle.Actor, given json.RawMessage) (lifecycle.Spec, error) {
				var a arguments
				if err := json.Unmarshal(given, &a); err != nil {
					return lifecycle.Spec{}, err
				}
				a.Tool, a.Given = name, given
				input, err := json.Marshal(a)
				return lifecycle.Spec{Input: input}, err
			}}
		if f.schema != "" {
			t.InputSchema = json.RawMessage(`{"type":"object","properties":` + f.schema + `}`)
		}
		if f.key != "" {
			t.Key = func(*lifecycle.Question) string { return f.key }
		}
		all = append(all, t)
	}
	return all
}

func agent(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	a := arguments{sink: sink}
	if err := json.Unmarshal(t.InputJSON, &a); err != nil {
		return engine.Outcome{}, err
	}
	return fixtures[a.Tool].act(ctx, t, a)
}

// form is a question with one field.
func form(prompt, field, kind string) engine.Question {
	return engine.Question{Kind: engine.FillFields, Prompt: prompt, Schema: json.RawMessage(`{"type":"object",` +
		`"properties":{"` + field + `":{"type":"` + kind + `"}},"required":["` + field + `"]}`)}
}

// askOnce asks once, and ends with the answer.
func askOnce(questions ...engine.Question) func(context.Context, engine.Turn, arguments) (engine.Outcome, error) {
	return func(_ context.Context, t engine.Turn, _ arguments) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.AskAll(questions...), nil
		}
		var said []string
		for _, a := range t.Answers {
			said = append(said, a.Message())
		}
		return engine.Done(strings.Join(said, ", ")), nil
	}
}

// pause takes so many seconds.
func pause(ctx context.Context, seconds float64) error {
	cast.Pause(ctx, time.Duration(seconds*float64(time.Second)))
	return ctx.Err()
}

var refund = engine.Question{Kind: engine.Approval, Prompt: "Refund?", Subject: &engine.Subject{Tool: "refund",
	Arguments: json.RawMessage(`{"cents":4200}`)}}

// fixtures are the tools that the conformance suite and the other clients call.
var fixtures = map[string]fixture{}

func init() { //nolint:gochecknoinits // the agent looks up its tool in the table
	text := engine.Question{Kind: engine.OpenText, Prompt: "Which color?"}
	rounds := func(_ context.Context, t engine.Turn, _ arguments) (engine.Outcome, error) {
		switch t.Attempt {
		case 1:
			return engine.Ask(text), nil
		case 2:
			return engine.Ask(engine.ConfirmOf("Really " + t.Answers[0].Text + "?")), nil
		}
		return engine.Done("sure: " + t.Answers[0].Text), nil
	}
	two := askOnce(text, refund)
	approve := askOnce(refund)
	for suffix, serve := range map[string]mcp.Serve{"": mcp.Hold, "_task": mcp.Task} {
		fixtures["rounds"+suffix] = fixture{serve: serve, act: rounds}
		fixtures["two"+suffix] = fixture{serve: serve, act: two}
		fixtures["approve"+suffix] = fixture{serve: serve, act: approve}
	}
	forBob := refund
	forBob.To = &lifecycle.Audience{Users: []string{"bob"}}
	fixtures["mixed"] = fixture{act: askOnce(text, forBob)}
	fixtures["work"] = fixture{act: func(ctx context.Context, t engine.Turn, a arguments) (engine.Outcome, error) {
		if len(t.Answers) > 0 {
			return approve(ctx, t, a)
		}
		if err := pause(ctx, 2); err != nil { // killed by then
			return engine.Outcome{}, err
		}
		return engine.Ask(refund), a.sink.Message(ctx, engine.Message{Text: "working"})
	}}
	fixtures["greet"] = fixture{schema: `{"name":{"type":"string"}}`,
		act: func(_ context.Context, _ engine.Turn, a arguments) (engine.Outcome, error) {
			return engine.Done("Hello, " + a.Name + "!"), nil
		}}
	fixtures["slow_compute"] = fixture{serve: mcp.Task, schema: `{"seconds":{"type":"number"},"label":{"type":"string"}}`,
		act: func(ctx context.Context, _ engine.Turn, a arguments) (engine.Outcome, error) {
			return engine.Done("computed"), pause(ctx, a.Seconds)
		}}
	fixtures["failing_job"] = fixture{serve: mcp.TaskOnly,
		act: func(ctx context.Context, _ engine.Turn, _ arguments) (engine.Outcome, error) {
			return engine.Outcome{}, errors.Join(pause(ctx, 1), errors.New("the job fails"))
		}}
	fixtures["protocol_error_job"] = fixture{serve: mcp.Task,
		act: func(context.Context, engine.Turn, arguments) (engine.Outcome, error) {
			return engine.Outcome{}, &engine.Failure{Code: engine.CodeEngineUnavailable, Detail: "no engine"}
		}}
	fixtures["test_missing_capability"] = fixture{serve: mcp.TaskOnly, act: askOnce(text)}
	fixtures["test_streaming_elicitation"] = fixture{act: askOnce(text)}
	fixtures["test_logging_tool"] = fixtures["greet"]
	fixtures["confirm_delete"] = fixture{serve: mcp.Task, schema: `{"filename":{"type":"string"}}`,
		act: askOnce(form("Delete it?", "confirm", "boolean"))}
	fixtures["multi_input"] = fixture{serve: mcp.Task,
		act: askOnce(form("Who?", "name", "string"), form("Sure?", "confirm", "boolean"))}
	fixtures["test_tool_with_task"] = fixture{serve: mcp.AskFirst, key: "user_name",
		act: askOnce(form("What is your name?", "name", "string"))}
	fixtures["test_input_required_result_elicitation"] = fixture{key: "user_name",
		act: askOnce(form("What is your name?", "name", "string"))}
	fixtures["test_input_required_result_request_state"] = fixture{key: "confirm",
		act: askOnce(form("Please confirm", "ok", "boolean"))}
	fixtures["test_input_required_result_tampered_state"] = fixtures["test_input_required_result_request_state"]
	fixtures["test_input_required_result_multi_round"] = fixture{
		act: func(_ context.Context, t engine.Turn, _ arguments) (engine.Outcome, error) {
			switch t.Attempt {
			case 1:
				return engine.Ask(form("Step 1: What is your name?", "name", "string")), nil
			case 2:
				return engine.Ask(form("Step 2: What is your favorite color?", "color", "string")), nil
			}
			return engine.Done("done: " + t.Answers[0].Message()), nil
		}}
}
