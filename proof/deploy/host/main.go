// Command host is a node of the drill in proof/deploy: a small host program, as a user would write
// it, with agents that are overloaded, break, and keep their sessions in a form of their version.
// It is also built with an earlier version of the library, so it uses nothing that is newer than
// the commits in proof/deploy/earlier.txt.
//
// It is given a Config as JSON in the environment, writes "ready" when it is about to serve, "+"
// when an agent begins to work and "-" when it has ended, and ends in good order on SIGTERM, or
// when its input ends.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

// Config is a node's configuration. The conductor has a copy of it, since it may be of another
// version.
type Config struct {
	Database string        `json:"database"` // a SQLite file, or the URL of PostgreSQL
	Version  int           `json:"version"`  // of the host: its engines
	Lease    time.Duration `json:"lease"`
	// Without is the safeguard that the host does not have; it has the others, as they are
	// recommended.
	Without string `json:"without"`
	// Refuses is for how long an engine of version 2 refuses sessions of version 1, by mistake.
	Refuses time.Duration `json:"refuses"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func run() error {
	var c Config
	if err := json.Unmarshal([]byte(os.Getenv("INTERLUDE_PROOF_HOST")), &c); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { // its input ends with its parent, whatever that died of
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	st, err := open(ctx, c.Database)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // acknowledged data is durable
	a := agent{Config: c, started: time.Now()}
	engines := map[string]engine.Engine{"writer": a}
	if c.Version > 1 {
		engines["reviewer"] = a
	}
	config := lifecycle.Config{
		Store: st, Engines: engines, Pools: []lifecycle.Pool{{Name: "default", Capacity: 60}}, Concurrency: 20,
		Lease: c.Lease, Grace: lifecycle.UntilDone, Poll: 100 * time.Millisecond,
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Forgiving: true,
		// The default pauses are for models, not for a drill.
		Retry: &lifecycle.Retry{Max: 30, Backoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond},
	}
	switch c.Without {
	case "retry":
		config.Retry = &lifecycle.Retry{}
	case "ask":
		config.OnInterrupt = lifecycle.Fail
	case "hold":
		config.Hold = lifecycle.HoldOff
	case "grace":
		config.Grace = -1
	}
	lc, err := lifecycle.New(config)
	if err != nil {
		return err
	}
	defer lc.Close()
	fmt.Println("ready")
	return lc.Serve(ctx)
}

func open(ctx context.Context, database string) (store.Store, error) {
	if strings.Contains(database, "://") {
		return postgres.Open(ctx, database, postgres.Options{})
	}
	return sqlite.Open(ctx, database, sqlite.Options{WatchInterval: 20 * time.Millisecond})
}

// agent does the jobs.
type agent struct {
	Config

	started time.Time
}

// job is the agent's task, as the prompt.
type job struct {
	Questions int           `json:"questions"`
	Work      time.Duration `json:"work"`             // in each turn
	Breaks    bool          `json:"breaks,omitempty"` // for good
	Unpaid    int           `json:"unpaid,omitempty"` // its first turns, before an operator has paid
}

// session is the content of the session handle: the answers that the agent has received.
type session struct {
	Heard []string `json:"heard"`
}

// Profile implements engine.Engine.
func (agent) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: engine.Resumable, Reason: "a session is what was heard", Plain: true}, nil
}

// understands returns why the agent cannot continue with a session: a session of a later version
// never, one from an earlier version for a time.
func (a agent) understands(h *engine.SessionHandle) error {
	version := fmt.Sprint(a.Version)
	switch {
	case h == nil || h.Version == version:
		return nil
	case h.Version > version:
		return fmt.Errorf("a session of version %s, this host is version %s", h.Version, version)
	case time.Since(a.started) < a.Refuses:
		return fmt.Errorf("a session of version %s is not converted yet", h.Version)
	}
	return nil
}

// Check implements engine.Checker.
func (a agent) Check(_ context.Context, _ string, h engine.SessionHandle) error {
	if err := a.understands(&h); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrHandleRefused, err)
	}
	return nil
}

// RunTurn implements engine.Engine.
func (a agent) RunTurn(ctx context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if err := a.understands(t.Session); err != nil {
		return engine.Outcome{}, &engine.Failure{Code: engine.CodeSessionResumeFailed, Detail: err.Error()}
	}
	var j job
	if err := json.Unmarshal([]byte(t.Prompt), &j); err != nil {
		return engine.Outcome{}, err
	}
	switch {
	case t.Attempt <= j.Unpaid:
		return engine.Outcome{}, engine.Hold(engine.CodeEngineFailed, "402 Payment Required")
	case overloaded(t.RunID, t.Attempt):
		return engine.Outcome{}, engine.Later(0, "503 Service Unavailable")
	}
	var s session
	if t.Session != nil {
		if err := json.Unmarshal(t.Session.Data, &s); err != nil {
			return engine.Outcome{}, err
		}
	}
	for _, answer := range t.Answers { // given again, where the turn is executed again
		s.Heard = append(slices.Clone(s.Heard[:min(answer.ID-1, len(s.Heard))]), answer.Text)
	}
	fmt.Println("+")
	defer fmt.Println("-")
	select {
	case <-time.After(j.Work):
	case <-ctx.Done():
		return engine.Outcome{}, context.Cause(ctx)
	}
	if j.Breaks {
		return engine.Outcome{Process: engine.Process{Status: engine.Failed, Detail: "exit status 3", ExitCode: 3}}, nil
	}
	if len(s.Heard) >= j.Questions {
		return engine.Output(s)
	}
	o := engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: "How shall I go on?"})
	data, err := json.Marshal(s)
	o.Session = &engine.SessionHandle{Engine: "deploy", Version: fmt.Sprint(a.Version), Data: data}
	return o, err
}

// overloaded is true in a third of the turns: always the same ones, on every node.
func overloaded(run string, attempt int) bool {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", run, attempt) // it never fails
	return h.Sum64()>>32%3 == 0
}
