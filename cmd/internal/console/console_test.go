package console_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// office is a host over a database, with the program.
type office struct {
	t   *testing.T
	db  string
	dir string // of the runs' folders
	lc  *lifecycle.Lifecycle
}

// each runs a story on a SQLite file and on PostgreSQL.
func each(t *testing.T, story func(*office)) {
	t.Run("sqlite", func(t *testing.T) { story(open(t, filepath.Join(t.TempDir(), "runs.db"))) })
	t.Run("postgres", func(t *testing.T) { story(open(t, pgtest.DSN(t))) })
}

// open starts a host on the database: its agent asks the question in the run's prompt, and is done
// with the answer.
func open(t *testing.T, db string) *office {
	t.Helper()
	st, err := openStore(t.Context(), db)
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() })
	dir := t.TempDir()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engine.Func(agent), Forgiving: true, Dir: dir,
		Logger: slog.New(slog.DiscardHandler), Pools: []lifecycle.Pool{{Name: "default", Capacity: 4}}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
		lc.Close()
	})
	return &office{t, db, dir, lc}
}

func openStore(ctx context.Context, db string) (console.Store, error) {
	if strings.HasPrefix(db, "postgres") {
		return postgres.Open(ctx, db, postgres.Options{})
	}
	return sqlite.Open(ctx, db, sqlite.Options{})
}

// agent asks the questions that its prompt has as JSON.
func agent(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) > 0 {
		o := engine.Done("The answer was: " + t.Answers[0].Text)
		o.Output, _ = json.Marshal(map[string]string{"answer": t.Answers[0].Text})
		return o, nil
	}
	if err := s.Message(ctx, engine.Message{Text: "I have a question.\x1b[31m"}); err != nil {
		return engine.Outcome{}, err
	}
	var all []engine.Question
	if err := json.Unmarshal([]byte(t.Prompt), &all); err != nil {
		return engine.Outcome{}, err
	}
	if all[0].Prompt == filesToOpen.Prompt {
		for name, body := range map[string]string{"plan.txt": "1. \x1bbuild\n\t", "plan.bin": "\x00"} {
			if err := os.WriteFile(filepath.Join(t.ArtifactDir, name), []byte(body), 0o600); err != nil {
				return engine.Outcome{}, err
			}
		}
		var err error
		if all[0].Files, err = t.Files("plan.txt", "plan.bin"); err != nil {
			return engine.Outcome{}, err
		}
	}
	return engine.AskAll(all...), nil
}

// filesToOpen is the question to which the agent attaches two files.
var filesToOpen = engine.Question{Kind: engine.Confirm, Prompt: "Is the plan right?"}

// asks submits a run and waits until its questions are open.
func (o *office) asks(id string, questions ...engine.Question) {
	o.t.Helper()
	prompt, err := json.Marshal(questions)
	require.NoError(o.t, err)
	_, err = o.lc.Submit(o.t.Context(), lifecycle.Spec{ID: id, Prompt: string(prompt), MaxQuestions: len(questions),
		Labels: map[string]string{"team": "a"}})
	require.NoError(o.t, err)
	for e, err := range o.lc.Events(o.t.Context(), id, 0) {
		require.NoError(o.t, err)
		if e.Type == lifecycle.TypeInputRequired {
			return
		}
	}
}

// printed is the result of a call of the program.
type printed struct {
	t      *testing.T
	status int
	out    string
	err    string // as the program prints it
}

// call calls the program with the database, and with a text on standard input.
func (o *office) call(stdin string, args ...string) printed {
	o.t.Helper()
	return call(o.t, stdin, append([]string{args[0], "-db", o.db}, args[1:]...)...)
}

func call(t *testing.T, stdin string, args ...string) printed {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(in, []byte(stdin), 0o600))
	read, err := os.Open(in)
	require.NoError(t, err)
	defer read.Close()
	write, err := os.Create(out)
	require.NoError(t, err)
	defer write.Close()
	p := command.Program{Verbs: console.Verbs()}
	status, failure := p.Run(t.Context(), command.Call{Program: "interlude", Args: args, In: read, Out: write,
		Side: write})
	body, err := os.ReadFile(out)
	require.NoError(t, err)
	result := printed{t: t, status: status, out: string(body)}
	if failure != nil {
		result.err = command.Line(failure)
	}
	require.NotContains(t, result.out+result.err, "\x1b", "no colour in a file, and no terminal commands")
	return result
}

// well requires that the call succeeded, and returns its output.
func (p printed) well() string {
	p.t.Helper()
	require.Equal(p.t, command.Succeeded, p.status, p.err+p.out)
	require.Empty(p.t, p.err)
	return p.out
}

// refused requires that the call failed with this status, one line that contains the words, and no
// output.
func (p printed) refused(status int, words ...string) {
	p.t.Helper()
	require.Equal(p.t, status, p.status, p.err+p.out)
	for _, w := range words {
		require.Contains(p.t, p.err, w)
	}
	require.NotContains(p.t, p.err, "\n")
	require.True(p.t, strings.HasPrefix(p.err, "interlude: "), p.err)
	require.Empty(p.t, p.out)
}

// lines decodes the JSON lines of a call.
func lines[T any](p printed) []T {
	p.t.Helper()
	var all []T
	dec := json.NewDecoder(strings.NewReader(p.well()))
	for {
		var v T
		err := dec.Decode(&v)
		if err == io.EOF {
			return all
		}
		require.NoError(p.t, err)
		all = append(all, v)
	}
}
