//go:build unix

package postgres_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// After a failover that loses commits, processes hold records whose versions are stored again with
// other content.

// lossy is a primary with an asynchronous standby. Processes connect to the current primary.
type lossy struct {
	*world

	primary, standby *pglocal.Server
}

func newLossy(t *testing.T) *lossy {
	t.Helper()
	small := pglocal.Options{Settings: map[string]string{"shared_buffers": "16MB"}}
	primary, err := pglocal.Start(t.Context(), small)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, primary.Stop()) })
	standby, err := primary.Standby(t.Context(), small)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop()) })
	u, err := url.Parse(primary.DSN(""))
	require.NoError(t, err)
	u.Host += "," + standby.Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	return &lossy{&world{t, u.String(), postgres.DefaultSchema}, primary, standby}
}

// process opens a store as a process would. reconnect replaces its connections.
func (l *lossy) process() (s *postgres.Store, reconnect func()) {
	l.Helper()
	config, err := pgxpool.ParseConfig(l.dsn)
	require.NoError(l, err)
	postgres.ConfigurePool(config)
	pool, err := pgxpool.NewWithConfig(l.Context(), config)
	require.NoError(l, err)
	l.Cleanup(pool.Close)
	s = openInTime(l, func() (*postgres.Store, error) { return postgres.New(l.Context(), pool, quiet) })
	l.Cleanup(func() { require.NoError(l, s.Close()) })
	return s, func() {
		pool.Reset()
		require.Eventually(l, func() bool { return second(s.Nodes(l.Context())) == nil }, patience, 10*time.Millisecond)
	}
}

// cut stops the standby when it has all commits: it lacks later ones.
func (l *lossy) cut() {
	l.Helper()
	admin, err := pgx.Connect(l.Context(), l.primary.DSN(""))
	require.NoError(l, err)
	defer admin.Close(context.Background())
	require.Eventually(l, func() bool {
		var n int
		err := admin.QueryRow(l.Context(), `SELECT count(*) FROM pg_stat_replication
			WHERE replay_lsn = pg_current_wal_lsn()`).Scan(&n)
		return err == nil && n == 1
	}, patience, 10*time.Millisecond)
	require.NoError(l, l.standby.Halt())
}

func (l *lossy) failOver() {
	l.Helper()
	require.NoError(l, l.primary.Kill())
	require.NoError(l, l.standby.Resume(l.Context()))
	require.NoError(l, l.standby.Promote(l.Context()))
}

// traced is a change by whose trace a test recognizes it.
func traced(prev store.Run, trace string) store.Commit {
	return withMarker(step(prev, func(r *store.Run) { r.Trace = trace }))
}

// replace stores a change on the promoted server. The first one is refused if it was decided before
// the incarnation was raised.
func replace(w *world, s store.Store, id string, change func(store.Run) store.Commit) store.Run {
	w.Helper()
	err := w.try(s, change(w.load(s, id)))
	if errors.Is(err, store.ErrConflict) {
		err = w.try(s, change(w.load(s, id)))
	}
	require.NoError(w, err)
	return w.load(s, id)
}

// A record that was read before a failover is never the base of a commit after it, whichever method
// has read it. The other commits of a batch are stored.
func TestR5ALostRecordIsNotTheBaseOfACommit(t *testing.T) {
	l := newLossy(t)
	s, reconnect := l.process()
	other, reconnectOther := l.process()
	l.furnish(s)
	ways := readings(l.world, s)
	for name := range ways {
		l.waiting(s, name)
	}
	for _, id := range []string{"in a batch", "fresh"} {
		l.waiting(s, id)
	}
	l.cut()
	bases := map[string]store.Run{}
	for name, read := range ways {
		committed := l.commit(s, traced(l.load(s, name), "lost"))
		bases[name] = read(name, committed)
		require.Equal(t, "lost", bases[name].Trace, name)
	}
	inBatch := l.commit(s, traced(l.load(s, "in a batch"), "lost"))
	l.failOver()
	reconnectOther()
	acknowledged := func(r store.Run) store.Commit { return traced(r, "acknowledged") }
	reconnect()
	for name := range ways {
		stored := replace(l.world, other, name, acknowledged)
		require.Equal(t, bases[name].Version, stored.Version)
		require.ErrorIs(t, l.try(s, traced(bases[name], "of a lost record")), store.ErrConflict, name)
		require.Equal(t, stored, l.load(s, name), name)
		l.commit(s, traced(l.load(s, name), "of a stored record"))
	}
	replace(l.world, other, "in a batch", acknowledged)
	errs := s.Commit(t.Context(), []store.Commit{traced(l.load(s, "fresh"), "a"), traced(inBatch, "b"),
		withMarker(created("new"))})
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], store.ErrConflict)
	require.NoError(t, errs[2])
}

// readings are the methods that return the record of a waiting run, whose last commit the process has
// just made.
func readings(w *world, s *postgres.Store) map[string]func(id string, committed store.Run) store.Run {
	ctx := w.Context()
	of := func(id string, runs []store.Run) (found store.Run) {
		for _, r := range runs {
			if r.ID == id {
				found = r
			}
		}
		return found
	}
	return map[string]func(string, store.Run) store.Run{
		"committed": func(_ string, committed store.Run) store.Run { return committed },
		"run":       func(id string, _ store.Run) store.Run { return w.load(s, id) },
		"recent": func(id string, _ store.Run) store.Run {
			r, _ := s.Recent(id)
			return r
		},
		"confirm": func(id string, _ store.Run) (run store.Run) {
			require.NoError(w, s.Confirm(ctx, func(r store.Reader) (err error) {
				run, err = r.Run(ctx, id)
				return err
			}))
			return run
		},
		"history": func(id string, _ store.Run) store.Run {
			run, _, err := s.History(ctx, id, store.HistoryQuery{Limit: 1})
			require.NoError(w, err)
			return run
		},
		"list": func(id string, _ store.Run) store.Run {
			page, err := s.Runs(ctx, store.Query{})
			require.NoError(w, err)
			return of(id, page.Runs)
		},
		"inbox": func(id string, _ store.Run) store.Run {
			page, err := s.Waiting(ctx, store.WaitingQuery{})
			require.NoError(w, err)
			return of(id, page.Runs)
		},
		"due": func(id string, _ store.Run) store.Run {
			due, _, err := s.Due(ctx, noon.Add(2*time.Hour), 100)
			require.NoError(w, err)
			return of(id, due)
		},
		"transaction": func(id string, _ store.Run) (run store.Run) {
			tx := w.beginTx(pgx.ReadCommitted)
			run = w.load(s.In(tx), id)
			require.NoError(w, tx.Rollback(ctx))
			return run
		},
	}
}

// gated calls before between the reads of a call and its first commit.
type gated struct {
	store.Store

	before func()
	once   sync.Once
}

func (g *gated) Commit(ctx context.Context, batch []store.Commit) []error {
	g.once.Do(g.before)
	return g.Store.Commit(ctx, batch)
}

// A process reads a question for a person's reply. Before its commit, a failover loses the question,
// and another worker asks another question in the same version. The reply is decided again, on the
// stored question.
func TestR5AReplyToALostQuestionIsDecidedAgain(t *testing.T) {
	l := newLossy(t)
	s, reconnect := l.process()
	other, reconnectOther := l.process()
	l.furnish(s)
	running := l.running(s, "r")
	asking := func(r store.Run, prompt string) store.Commit {
		c := withMarker(ask(r))
		c.Run.Open[0].Prompt = prompt
		return c
	}
	l.cut()
	l.commit(s, asking(running, "Delete A?"))
	client := mustClient(t, &gated{Store: s, before: func() {
		l.failOver()
		reconnectOther()
		replace(l.world, other, "r", func(r store.Run) store.Commit {
			require.Equal(t, running.Version, r.Version)
			return asking(r, "Delete B?")
		})
		reconnect()
	}})
	receipt, err := client.Reply(t.Context(), "r", lifecycle.Reply{ID: 1, Text: "yes", Key: "k"})
	require.NoError(t, err)
	require.False(t, receipt.Replayed)
	history, err := client.History(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, history, 1)
	require.Equal(t, "Delete B?", history[0].Question.Prompt)
}

// Several goroutines of two processes change the same runs, each on the record in its memory, while
// the primary is killed and the standby is promoted without the last commits. One process then
// repeats commits that it decided on lost records, until the other process has stored more versions.
// Every stored change must contain the number of the change that precedes it.
func TestR5StoredChangesFollowFromEachOtherAcrossAFailover(t *testing.T) {
	l := newLossy(t)
	obstinate, _ := l.process()
	l.furnish(obstinate)
	normal, _ := l.process()
	const runs, workers, lost, kept = 4, 3, 4, 15 // changes by worker and run; 3 * 15 are more than 2 * 3 * 4
	id := func(i int) string { return fmt.Sprint("r", i%runs) }
	for i := range runs {
		l.running(obstinate, id(i))
	}
	type body struct{ Base, Trace string }
	var all, before sync.WaitGroup
	after := make(chan struct{})
	// change stores a change, and returns the record from its memory.
	change := func(s *postgres.Store, known *store.Run, id, trace string) *store.Run {
		ctx := t.Context()
		for try := 0; ctx.Err() == nil; try++ {
			base, err := *cmp.Or(known, &store.Run{}), error(nil)
			if known == nil {
				base, err = s.Run(ctx, id)
			}
			if err == nil {
				c := traced(base, fmt.Sprint(trace, " try ", try))
				c.Marker = nil
				c.Events[0].Body, _ = json.Marshal(body{base.Trace, c.Run.Trace})
				if err = s.Commit(ctx, []store.Commit{c})[0]; err == nil {
					return &c.Run
				}
			}
			if errors.Is(err, store.ErrConflict) {
				stored, err := s.Run(ctx, id)
				if s == normal || err == nil && stored.Version > base.Version {
					known = nil
				}
				continue
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		return nil
	}
	l.cut()
	for i, s := range []*postgres.Store{obstinate, normal} {
		for j := range workers {
			before.Add(1)
			all.Go(func() {
				known := map[string]*store.Run{}
				for n := range runs * (lost + kept) {
					if n == runs*lost {
						before.Done()
						<-after
					}
					known[id(n)] = change(s, known[id(n)], id(n), fmt.Sprint("worker ", i, j, " change ", n))
				}
			})
		}
	}
	before.Wait()
	l.failOver()
	close(after)
	all.Wait()
	for i := range runs {
		stored, err := normal.Events(t.Context(), id(i), 0, 1000)
		require.NoError(t, err)
		last, n := "", 0
		for _, e := range stored {
			var b body
			if json.Unmarshal(e.Body, &b) != nil || b.Trace == "" {
				continue
			}
			require.Equal(t, last, b.Base, "change %d of %s", e.Seq, id(i))
			last, n = b.Trace, n+1
		}
		require.Equal(t, last, l.load(obstinate, id(i)).Trace)
		require.GreaterOrEqual(t, n, 2*workers*kept, "the changes after the failover are stored")
	}
}

// Turns are executed while the primary is replaced. A turn whose commits have survived continues; a
// turn that lost its last commit is settled as interrupted, and here executed again.
func TestR5TurnsEndAfterAFailover(t *testing.T) {
	ctx, l := t.Context(), newLossy(t)
	s, _ := l.process()
	reported := map[string]chan struct{}{"survives": make(chan struct{}), "loses": make(chan struct{})}
	next := map[string]chan struct{}{"survives": make(chan struct{}), "loses": make(chan struct{})}
	lc := serving(t, lifecycle.Config{Store: s, Forgiving: true, Engine: engine.Func(
		func(ctx context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
			for i := range 2 {
				if turn.Attempt == 1 {
					<-next[turn.RunID]
				}
				if err := sink.Message(ctx, engine.Message{Text: fmt.Sprint("message ", i)}); err != nil {
					return engine.Outcome{}, err
				}
				if turn.Attempt == 1 && i == 0 {
					close(reported[turn.RunID])
				}
			}
			return engine.Done("done"), nil
		})})
	for id := range next {
		require.NoError(t, second(lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "go",
			OnInterrupt: store.InterruptRepeat})))
	}
	next["survives"] <- struct{}{}
	<-reported["survives"]
	require.Eventually(t, func() bool { // its claim must survive
		run, err := lc.Get(ctx, "loses")
		return err == nil && run.State == fsm.StateRunning
	}, patience, 10*time.Millisecond)
	l.cut()
	next["loses"] <- struct{}{}
	<-reported["loses"]
	l.failOver()
	for id, attempt := range map[string]int{"survives": 1, "loses": 2} {
		close(next[id])
		require.Eventually(t, func() bool {
			run, err := lc.Get(ctx, id)
			return err == nil && run.State.Terminal()
		}, patience, 10*time.Millisecond, id)
		run, err := lc.Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, fsm.StateSucceeded, run.State, id)
		require.Equal(t, attempt, run.Attempt, id)
	}
}

// After a restore, commits on earlier records are refused, and commits on records that any method
// returns are stored. A transaction of the host reads and decides again; a transaction whose snapshot
// is older must be repeated.
func TestR5EachReadIsTheBaseOfTheNextCommit(t *testing.T) {
	w, s := newWorld(t, quiet)
	ways := readings(w, s)
	ways["orphan"] = func(id string, _ store.Run) store.Run {
		orphans, err := s.Orphans(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Len(t, orphans, 1)
		return orphans[0]
	}
	require.NoError(t, s.Join(t.Context(), store.Node{ID: "gone", Lease: time.Hour}, noon))
	for name := range ways {
		if name != "orphan" {
			w.waiting(s, name)
		}
	}
	w.commit(s, created("orphan"))
	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "gone", Now: noon, Max: 1, Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	expired, err := s.Expire(t.Context(), noon, "gone")
	require.NoError(t, err)
	require.Len(t, expired, 1)
	before := map[string]store.Run{}
	for name, read := range ways {
		before[name] = read(name, w.commit(s, traced(w.load(s, name), "before")))
	}
	cached := w.waiting(s, "cached")
	queued := w.commit(s, created("queued"))
	require.NoError(t, postgres.Restored(t.Context(), w.dsn, w.schema))
	read := w.load(s, "cached") // the cached record is not of this incarnation
	require.Equal(t, cached.Version, read.Version)
	w.commit(s, traced(read, "after"))
	claimed, err = s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.ErrorIs(t, w.try(s, traced(queued, "refused")), store.ErrConflict)
	w.commit(s, fenced(traced(claimed[0].Run, "claimed"), "n"))
	w.commit(s, created("new"))
	recent, ok := s.Recent("new")
	require.True(t, ok)
	w.commit(s, traced(recent, "after"))
	for name, read := range ways {
		require.ErrorIs(t, w.try(s, traced(before[name], "refused")), store.ErrConflict, name)
		r := w.commit(s, traced(read(name, w.load(s, name)), "after"))
		w.commit(s, traced(read(name, r), "after"))
	}

	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		w.exec(`UPDATE interlude.store SET timeline = '00000000'`) // as after a promotion
		tx := w.beginTx(level)
		in := s.In(tx)
		known := w.load(in, "run")
		if level == pgx.RepeatableRead {
			require.ErrorIs(t, w.try(in, traced(known, "old")), postgres.ErrSerialization)
			continue
		}
		require.ErrorIs(t, w.try(in, traced(known, "old")), store.ErrConflict)
		w.commit(in, traced(w.load(in, "run"), "new"))
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, "new", w.load(s, "run").Trace)
	}
}

// journaling is a function whose sink keeps a journal.
type journaling func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error)

func (journaling) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: engine.Resumable, Plain: true}, nil
}

func (f journaling) RunTurn(ctx context.Context, t engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	return f(ctx, t, sink)
}

// The incarnation is raised during a turn. Its next commits are a report, a step in a transaction of
// the host, or its end. The turn continues, because the store has its last record.
func TestR5ATurnContinuesIfItsRecordWasRestored(t *testing.T) {
	ctx := t.Context()
	w, s := newWorld(t, quiet)
	pool, err := pgxpool.New(t.Context(), w.dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	restore := func() error { return postgres.Restored(t.Context(), w.dsn, w.schema) }
	report := func(ctx context.Context, sink engine.Sink) error {
		return sink.Message(ctx, engine.Message{Text: "working"})
	}
	step := func(ctx context.Context, sink engine.Sink) error {
		journal, ok := sink.(engine.TransactionalJournal)
		require.True(t, ok)
		return journal.AppendIn(ctx, func(write func(context.Context, any, ...engine.JournalEntry) error) error {
			return s.Transact(ctx, pool, func(_ pgx.Tx, in store.Store) error {
				return write(ctx, in, engine.JournalEntry{Path: fmt.Sprint(time.Now().UnixNano()), Type: "step",
					Body: []byte("1")})
			})
		})
	}
	turns := map[string][]func(context.Context, engine.Sink) error{
		"report": {report, report}, "step": {step, step}, "end": nil,
	}
	lc := serving(t, lifecycle.Config{Store: s, Engine: journaling(
		func(ctx context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
			for _, do := range turns[turn.RunID] {
				if err := errors.Join(restore(), do(ctx, sink)); err != nil {
					return engine.Outcome{}, err
				}
			}
			return engine.Done("done"), restore()
		})})
	for id := range turns {
		require.NoError(t, second(lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "go"})))
		require.Eventually(t, func() bool {
			run, err := lc.Get(ctx, id)
			return err == nil && run.State.Terminal()
		}, patience, 10*time.Millisecond, id)
		run, err := lc.Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, fsm.StateSucceeded, run.State, "%s: %v", id, run.Error)
		require.Equal(t, 1, run.Attempt, id)
	}
	entries, err := s.Journal(ctx, "step")
	require.NoError(t, err)
	require.Len(t, entries, 2)
}
