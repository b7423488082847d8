package lifecycletest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// earlierRun is a run as the version that stored it read it: a line of the file that stands beside
// the stored data.
type earlierRun struct {
	ID      string               `json:"id"`
	Record  string               `json:"record"`
	Spec    string               `json:"spec"`
	Events  []string             `json:"events"`
	History []interaction.Record `json:"history"`
}

// earlierEnds is how each run of the earlier version ends when it is served on, and with which code
// where it fails.
var earlierEnds = map[string]struct {
	state fsm.State
	code  fsm.Code
}{
	// They have ended, and do not change any more.
	"succeeded": {fsm.StateSucceeded, ""},
	"decided":   {fsm.StateSucceeded, ""},
	"failed":    {fsm.StateFailed, fsm.CodeEngineFailed},
	"timed-out": {fsm.StateFailed, fsm.CodeInteractionWaitTimeout},
	"canceled":  {fsm.StateCanceled, fsm.CodeRunCanceled},
	// They wait for a person, who answers, cancels, or lets the deadline pass.
	"waiting":     {fsm.StateSucceeded, ""},
	"asked-twice": {fsm.StateSucceeded, ""},
	"long":        {fsm.StateCanceled, fsm.CodeRunCanceled},
	"due-later":   {fsm.StateSucceeded, ""},
	// They are queued.
	"answered": {fsm.StateSucceeded, ""},
	"queued":   {fsm.StateSucceeded, ""},
	"delayed":  {fsm.StateSucceeded, ""},
	// Their node is dead: one may be repeated, and the others have lost their turn or their process.
	"interrupted":       {fsm.StateSucceeded, ""},
	"lost":              {fsm.StateFailed, fsm.CodeOrchestratorRestartInterrupted},
	"resident":          {fsm.StateFailed, fsm.CodeInteractionProcessLost},
	"resident-answered": {fsm.StateFailed, fsm.CodeInteractionProcessLost},
}

// shiftedClock is the system's clock, moved to the time of the earlier data.
type shiftedClock struct {
	lifecycle.SystemClock

	offset atomic.Int64
}

func (c *shiftedClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// advance moves the clock forward.
func (c *shiftedClock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// ServeEarlierData proves that data of an earlier version are opened and go on (J8). The store holds
// the runs of earlierEnds as testdata/README.md of package sqlite says, and the file at path has a
// line for each run, as the earlier version read it. Every record, spec, event and settled
// interaction must be the same now. Then the runs are served: people reply to them, cancel one, let
// the deadline of another pass, and what the dead node left is recovered, until every run has ended
// with a log that keeps the contract's invariants.
func ServeEarlierData(t *testing.T, s store.Store, path string) {
	t.Helper()
	runs, latest := readEarlierRuns(t, path)
	for _, want := range runs {
		requireUnchanged(t, s, want)
	}
	clock := &shiftedClock{}
	clock.offset.Store(int64(time.Until(latest.Add(time.Minute))))
	l, err := lifecycle.New(lifecycle.Config{Store: s, Engine: engine.Func(paint),
		Engines: map[string]engine.Engine{"resident": NewAgent(fsm.ProfileStickyProcess)},
		Clock:   clock, Poll: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- l.Serve(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-served)
	}()

	first := interaction.Reply{ID: 1, Text: "red <b>", Key: "key-1", Actor: "ada"}
	receipt, err := l.Reply(ctx, "succeeded", first)
	require.NoError(t, err)
	require.True(t, receipt.Replayed, "a reply that the earlier version accepted")
	first.Text = "another text"
	_, err = l.Reply(ctx, "succeeded", first)
	require.ErrorIs(t, err, lifecycle.ErrKeyConflict)
	found, err := l.Runs(ctx, lifecycle.Query{Labels: map[string]string{`we"ird`: "$[0]"}})
	require.NoError(t, err)
	require.Len(t, found.Runs, 1)
	found, err = l.Runs(ctx, lifecycle.Query{Labels: map[string]string{"team": "blue"}})
	require.NoError(t, err)
	require.Len(t, found.Runs, 14)

	replyTo := func(id string, number int) {
		t.Helper()
		require.Eventually(t, func() bool {
			q, err := l.Pending(ctx, id)
			return err == nil && q != nil
		}, time.Minute, 5*time.Millisecond, id)
		_, err := l.Reply(ctx, id, interaction.Reply{ID: number, Text: "blue", Key: "key-9"})
		require.NoError(t, err, id)
	}
	replyTo("waiting", 1)
	replyTo("asked-twice", 2)
	replyTo("queued", 1)
	replyTo("interrupted", 1)
	require.NoError(t, l.Cancel(ctx, "long", "no longer needed"))
	due, err := l.Get(ctx, "due-later")
	require.NoError(t, err)
	require.Equal(t, fsm.StateWaitingUser, due.State)
	clock.advance(2 * time.Hour)
	replyTo("delayed", 1)

	require.Len(t, earlierEnds, len(runs))
	for _, before := range runs {
		run, err := l.Wait(ctx, before.ID)
		require.NoError(t, err)
		want := earlierEnds[before.ID]
		require.Equal(t, want.state, run.State, "%s: %+v", before.ID, run.Error)
		if want.code != "" {
			require.Equal(t, want.code, run.Error.Code, before.ID)
		}
		requireGoodLog(t, s, before)
	}
	for _, id := range []string{"succeeded", "decided", "failed", "timed-out", "canceled"} {
		for _, before := range runs {
			if before.ID == id {
				requireUnchanged(t, s, before)
			}
		}
	}
}

// readEarlierRuns reads what the earlier version read, and the latest time at which it changed a
// run.
func readEarlierRuns(t *testing.T, path string) (runs []earlierRun, latest time.Time) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		var r earlierRun
		require.NoError(t, json.Unmarshal(line, &r))
		record, err := store.Decode([]byte(r.Record))
		require.NoError(t, err)
		if record.UpdatedAt.After(latest) {
			latest = record.UpdatedAt
		}
		runs = append(runs, r)
	}
	return runs, latest
}

// requireUnchanged requires that the store shows the run as the earlier version did.
func requireUnchanged(t *testing.T, s store.Store, want earlierRun) {
	t.Helper()
	run, history, err := s.History(t.Context(), want.ID)
	require.NoError(t, err)
	record, err := store.Encode(run)
	require.NoError(t, err)
	require.Equal(t, want.Record, string(record))
	require.Equal(t, want.History, history, want.ID)
	spec, err := s.Spec(t.Context(), want.ID)
	require.NoError(t, err)
	require.Equal(t, want.Spec, string(spec))
	var events []string
	page, err := s.Events(t.Context(), want.ID, 0, 1000)
	require.NoError(t, err)
	for _, e := range page {
		events = append(events, string(e.Body))
	}
	require.Equal(t, want.Events, events, want.ID)
}

// requireGoodLog requires that the run's log begins with the events of the earlier version, and
// keeps the contract's invariants.
func requireGoodLog(t *testing.T, s store.Store, before earlierRun) {
	t.Helper()
	page, err := s.Events(t.Context(), before.ID, 0, 1000)
	require.NoError(t, err)
	var log bytes.Buffer
	for i, e := range page {
		if i < len(before.Events) {
			require.Equal(t, before.Events[i], string(e.Body), before.ID)
		}
		log.Write(e.Body)
		log.WriteByte('\n')
	}
	report, err := audit.Check(bytes.NewReader(log.Bytes()))
	require.NoError(t, err)
	require.Nil(t, report.First(), "log of %s:\n%s", before.ID, log.String())
}

// paint is the agent of the earlier data: it asks once, and then says what it was told.
func paint(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(turn.Answers) == 0 {
		return engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: "Which colour?"}), nil
	}
	return engine.Output(map[string]string{"colour": turn.Answers[0].Text, "run": turn.RunID})
}
