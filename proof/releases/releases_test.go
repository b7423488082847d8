package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

const folders = "../../testdata/releases"

func TestMain(m *testing.M) { pgtest.Main(m) }

// J14 J8 E1: the current code opens and migrates the data of each release. Every run is read as
// that release read it, continues, and ends as planned. Its log keeps the contract of the version
// that began it.
func TestRunsOfEachReleaseGoOn(t *testing.T) {
	releases, err := os.ReadDir(folders)
	require.NoError(t, err)
	for _, release := range releases {
		if !release.IsDir() {
			continue
		}
		folder := filepath.Join(folders, release.Name())
		t.Run(release.Name()+"/sqlite", func(t *testing.T) { serveOn(t, folder, openSQLite(t, folder)) })
		t.Run(release.Name()+"/postgres", func(t *testing.T) { serveOn(t, folder, openPostgres(t, folder)) })
	}
}

// J14: this version has a folder. A change of the version's number needs a new folder.
func TestThisVersionHasAFolder(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`github.com/interlude-go/interlude (v\S+)`).FindSubmatch(text)
	require.NotNil(t, version)
	require.DirExists(t, filepath.Join(folders, string(version[1])), "make it: see RELEASING.md")
}

// J14: runs stored by the current code continue as well, from every state that a run can have. A
// new state must be added to the cast.
func TestTheCastStandsInEveryWay(t *testing.T) {
	folder := t.TempDir()
	dsn := pgtest.DSN(t)
	require.NoError(t, makeFolder(t.Context(), folder, filepath.Join(t.TempDir(), "runs.db"), dsn))
	require.NoError(t, os.CopyFS(filepath.Join(folder, "contract"), contractFiles{os.DirFS("../../contract")}))
	seen := make(map[any]bool)
	type waitingAs struct {
		profile fsm.Profile
		strict  bool
	}
	for _, line := range readRuns(t, folder, "runs.jsonl") {
		run, err := store.Decode([]byte(line.Record))
		require.NoError(t, err)
		seen[run.State], seen[run.Profile], seen[run.Mode], seen[run.Recovery] = true, true, true, true
		if len(run.Open) > 0 {
			seen[run.Open[0].Kind], seen[run.Open[0].DefaultPolicy] = true, true
			seen[waitingAs{run.Profile, run.Strict}] = true
		}
		if run.Block != nil {
			seen[run.Block.Kind], seen[run.Block.Code] = true, true
		}
		for what, is := range map[string]bool{
			"fork": run.ForkedFrom != nil, "meta": strings.Contains(line.Spec, "traceparent"),
			"budget and usage": run.Budget != nil && run.Budget.Used.Tokens == 42,
			"not before":       run.Attempt == 0 && !run.NotBefore.IsZero(),
			"form":             len(run.Open) > 0 && run.Open[0].Schema != nil && !run.Open[0].AlsoText,
			"form or text":     len(run.Open) > 0 && run.Open[0].Schema != nil && run.Open[0].AlsoText,
			"only":             len(run.Open) > 0 && run.Open[0].Only,
			"approval":         len(run.Open) > 0 && run.Open[0].Subject != nil,
			"several":          run.Together != nil && run.Together.Replies > 0 && len(run.Open) > 1,
			"awaits children":  run.AwaitsChildren(),
			"open child":       run.Parent() != "" && run.State == waiting,
			"child kept":       run.KeptForParent(),
			"journal":          run.Journal != nil && run.Journal.Entries == 1,
			"several answers":  run.Together != nil && run.State == queued,
			"asked of some":    len(run.Open) > 0 && run.Open[0].To != nil,
		} {
			if is {
				seen[what] = true
			}
		}
		for _, r := range line.History {
			seen[r.Resolution] = true
		}
		for _, name := range store.Needs() {
			if names, _, _ := strings.Cut(line.Record, "}"); strings.Contains(names, `"`+name+`"`) {
				seen["needs "+name] = true
			}
		}
	}
	want := []any{interaction.ChooseOne, interaction.Confirm, interaction.FillFields, interaction.OpenText,
		interaction.RiskAck, interaction.EngineJudgement, interaction.SafeDefault, interaction.Abort,
		interaction.UserReply, interaction.AutoDecideTimeout, interaction.Abandoned, store.RecoveryNone,
		store.RecoveredWaiting, store.FailedReconciled, store.BlockRetry, store.BlockSleep, store.BlockHeld,
		fsm.CodeBudgetExhausted, fsm.CodeOrchestratorRestartInterrupted, fsm.CodeEngineFailed, "fork", "meta",
		"budget and usage", "not before", "form", "form or text", "approval", "only", "asked of some",
		"several", "several answers", "journal", "awaits children", "open child", "child kept",
		interaction.Superseded}
	for _, name := range store.Needs() {
		want = append(want, "needs "+name)
	}
	for _, s := range fsm.States() {
		want = append(want, s)
	}
	for _, m := range fsm.Modes() {
		want = append(want, m)
	}
	for _, p := range fsm.Profiles() {
		want = append(want, p, waitingAs{p, false}, waitingAs{p, true})
	}
	for _, way := range want {
		require.True(t, seen[way], "no run of the cast stands as %v", way)
	}
	serveOn(t, folder, openSQLite(t, folder))
}

func openSQLite(t *testing.T, folder string) store.Store {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "sqlite.sql"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "runs.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "BEGIN;"+string(text)+"COMMIT;")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func openPostgres(t *testing.T, folder string) store.Store {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "postgres.sql"))
	require.NoError(t, err)
	dsn := pgtest.DSN(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), string(text), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	status, err := s.Inspect(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(postgres.Migrations()), status.Version)
	return s
}

// readRuns reads the first of these files that exists.
func readRuns(t *testing.T, folder string, names ...string) (runs []seenRun) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for line := range bytes.Lines(text) {
			var r seenRun
			require.NoError(t, json.Unmarshal(line, &r))
			runs = append(runs, r)
		}
		return runs
	}
	t.Fatalf("none of %v is in %s", names, folder)
	return nil
}

// movedClock is the machine's clock, moved to the time of the release's data.
type movedClock struct {
	lifecycle.SystemClock

	offset atomic.Int64
}

// Now implements lifecycle.Clock.
func (c *movedClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// serveOn serves the runs of a folder to their ends.
func serveOn(t *testing.T, folder string, s store.Store) {
	t.Helper()
	name := "postgres.jsonl" // for a release with a separate list for each store
	if _, ok := s.(*sqlite.Store); ok {
		name = "sqlite.jsonl"
	}
	runs := readRuns(t, folder, "runs.jsonl", name)
	var latest time.Time
	for _, r := range runs {
		requireAsItWas(t, s, &r)
		record, err := store.Decode([]byte(r.Record))
		require.NoError(t, err)
		if record.UpdatedAt.After(latest) {
			latest = record.UpdatedAt
		}
	}
	clock := &movedClock{}
	clock.offset.Store(int64(time.Until(latest.Add(time.Minute))))
	lc, err := lifecycle.New(lifecycle.Config{
		Store: s, Engine: engine.Func(paintTurn), Engines: map[string]engine.Engine{
			elsewhereEngine: engine.Func(paintTurn), formerEngine: engine.Func(paintTurn),
			// none of its processes has survived
			residentEngine: &enginetest.FakeAgent{Kind: fsm.ProfileStickyProcess, Reason: "a test", Turn: paintTurn},
		},
		Clock: clock, Poll: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer lc.Close()
	w := &world{T: t, Lifecycle: lc, runs: runs}
	w.requireKnown()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-served)
	}()

	w.settle(func(r *seenRun, run *lifecycle.Run) bool { // everything that does not need time to pass
		return r.Next == overdue || run.NotBefore.After(clock.Now())
	})
	for _, r := range runs {
		if r.Next == overdue {
			require.Equal(t, fsm.StateWaitingUser, w.get(r.ID).State, r.ID)
		}
	}
	clock.offset.Add(int64(2 * time.Hour))
	w.settle(func(*seenRun, *lifecycle.Run) bool { return false })

	checker, err := audit.NewCheckerFrom(os.DirFS(filepath.Join(folder, "contract")))
	require.NoError(t, err)
	today := audit.NewChecker()
	for _, r := range runs {
		w.requireEnd(s, &r, checker, today)
	}
	require.Empty(t, checker.Close())
	require.Empty(t, today.Close())
}

// world has the runs of a release, which the current code serves.
type world struct {
	*testing.T
	*lifecycle.Lifecycle

	runs []seenRun
}

func (w *world) get(id string) lifecycle.Run {
	w.Helper()
	run, err := w.Get(w.Context(), id)
	require.NoError(w, err)
	return run
}

// requireKnown requires that listings find the runs, and that a reply which that release accepted
// gets the same receipt again.
func (w *world) requireKnown() {
	w.Helper()
	for _, r := range w.runs {
		run := w.get(r.ID)
		page, err := w.Runs(w.Context(), lifecycle.Query{Labels: run.Labels, Limit: 100})
		require.NoError(w, err)
		require.True(w, slices.ContainsFunc(page.Runs, func(found lifecycle.Run) bool {
			return found.ID == r.ID
		}), r.ID)
		for _, past := range r.History {
			if past.Key == "" {
				continue
			}
			reply := lifecycle.Reply{ID: past.Question.ID, Text: past.Response, Key: past.Key,
				Actor: lifecycle.Actor{ID: past.Actor}}
			receipt, err := w.Reply(w.Context(), r.ID, reply)
			require.NoError(w, err)
			require.True(w, receipt.Replayed)
			require.Equal(w, past.ResolvedAt, receipt.AcceptedAt)
			reply.Text += ", or another"
			_, err = w.Reply(w.Context(), r.ID, reply)
			require.ErrorIs(w, err, lifecycle.ErrKeyConflict)
		}
	}
}

// settle executes the fates of the runs, until all have ended except the ones that stay.
func (w *world) settle(stays func(*seenRun, *lifecycle.Run) bool) {
	w.Helper()
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	patience := time.Now().Add(time.Minute)
	for left := w.runs; len(left) > 0; <-pause.C {
		left = slices.DeleteFunc(slices.Clone(left), func(r seenRun) bool {
			run := w.get(r.ID)
			if run.State.Terminal() || stays(&r, &run) {
				return true
			}
			require.True(w, time.Now().Before(patience), "%s does not end: %+v", r.ID, run)
			switch {
			case r.Next == canceled:
				require.NoError(w, w.Cancel(w.Context(), r.ID, "no longer needed"))
			case r.Next == answered && run.Held():
				resume := lifecycle.Resume{Choice: run.Block.Choices[0], Version: run.Version}
				if resume.Choice == lifecycle.ChoiceRaise {
					resume.Budget = lifecycle.Budget{Turns: 10}
				}
				_ = w.Resume(w.Context(), r.ID, resume) // it may have continued automatically: only its end
				// matters
			case r.Next == answered && len(run.Open) > 0:
				_, err := w.Reply(w.Context(), r.ID, replyTo(run.FirstOpen()))
				require.NoError(w, err, r.ID)
			}
			return false
		})
	}
}

// replyTo is Ada's reply to a question of any kind.
func replyTo(q *lifecycle.Question) lifecycle.Reply {
	reply := lifecycle.Reply{ID: q.ID, Actor: lifecycle.Actor{ID: "ada"}}
	switch {
	case q.Kind == interaction.Approval:
		reply.Decision, reply.AcceptRisk = interaction.Approve, true
	case q.Schema != nil && !q.AlsoText:
		reply.Value = json.RawMessage(`{"colour":"blue"}`)
	default:
		reply.Text = "blue"
	}
	return reply
}

// requireEnd requires that the run has ended as planned, and that its log continues the release's
// log and keeps both the contract of that release and the current one. A run that had ended before
// must not have changed.
func (w *world) requireEnd(s store.Store, before *seenRun, checkers ...*audit.Checker) {
	w.Helper()
	run := w.get(before.ID)
	require.Equal(w, before.Ends, run.State, "%s: %+v", before.ID, run.Error)
	if before.Fails != "" {
		require.Equal(w, before.Fails, run.Error.Code, before.ID)
	}
	was, err := store.Decode([]byte(before.Record))
	require.NoError(w, err)
	switch {
	case !was.State.Terminal():
	case was.Prunable():
		requireAsItWas(w.T, s, before)
	default: // a child that has stayed for its parent
		require.True(w, run.Prunable(), before.ID)
		was.Version, was.Family.Due, was.Family.Kept = run.Version, run.Family.Due, run.Family.Kept
		require.Equal(w, was, run)
	}
	seen, err := see(w.Context(), s, before.ID)
	require.NoError(w, err)
	require.Equal(w, before.Events, seen.Events[:len(before.Events)], before.ID)
	for _, c := range checkers {
		for _, e := range seen.Events {
			require.Empty(w, c.Line([]byte(e)), "%s: %v", before.ID, seen.Events)
		}
	}
}

// requireAsItWas requires that the store returns the run as that release did.
func requireAsItWas(t *testing.T, s store.Store, want *seenRun) {
	t.Helper()
	have, err := see(t.Context(), s, want.ID)
	require.NoError(t, err)
	have.Next, have.Ends, have.Fails = want.Next, want.Ends, want.Fails
	require.Equal(t, want, have)
}

// paintTurn is an agent that asks once, and then completes the run with the answer; or, for the
// parent of the cast, once its children have ended.
func paintTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if t.RunID == "parent" {
		return joins(ctx, t, s)
	}
	if len(t.Answers) == 0 {
		return engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: "Which colour?"}), nil
	}
	return engine.Output(map[string]string{"colour": t.Answers[0].Text, "run": t.RunID})
}
