//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

var quiet = postgres.Options{NoListen: true, NoNotify: true}

// answering ends with the answer to its question.
var answering = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.Question{Prompt: "Which?"}), nil
	}
	return engine.Done(t.Answers[0].Text), nil
})

// sentEvents are the events that left a host, by id.
type sentEvents struct {
	*testing.T

	body map[string]string
	last map[string]lifecycle.Cursor // by run
}

// follow reads a run's events up to the first of the type, and requires that no id has other content
// than before.
func (s *sentEvents) follow(lc *lifecycle.Lifecycle, id, typ string) {
	s.Helper()
	for e, err := range lc.Events(s.Context(), id, 0) {
		require.NoError(s, err)
		body := fmt.Sprint(e.TS, e.Type, string(e.Data))
		if before, ok := s.body[e.ID()]; ok {
			require.Equal(s, before, body, "%s came again with other content", e.ID())
		}
		s.body[e.ID()], s.last[id] = body, e.Cursor()
		if e.Type == typ {
			return
		}
	}
}

// hosted serves on a new store until the test ends.
func hosted(t *testing.T, dsn string) *lifecycle.Lifecycle {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return serving(t, lifecycle.Config{Store: s, Engine: answering, Forgiving: true})
}

// A standby is promoted without the last commits, while two processes keep running: no event has
// the id of a lost one, cursors of lost events are refused, and replies whose receipts are lost are
// decided again.
func TestR5NoEventIDRepeatsAfterAFailoverThatLostCommits(t *testing.T) {
	ctx := t.Context()
	small := pglocal.Options{Settings: map[string]string{"shared_buffers": "16MB"}}
	primary, err := pglocal.Start(ctx, small)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, primary.Stop()) })
	standby, err := primary.Standby(ctx, small)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop()) })
	u, err := url.Parse(primary.DSN(""))
	require.NoError(t, err)
	u.Host += "," + standby.Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	hosts := []*lifecycle.Lifecycle{hosted(t, u.String()), hosted(t, u.String())}

	const runs = 20
	sent := &sentEvents{t, map[string]string{}, map[string]lifecycle.Cursor{}}
	id := func(i int) string { return fmt.Sprint("r", i) }
	for i := range runs {
		_, err := hosts[0].Submit(ctx, lifecycle.Spec{ID: id(i), Prompt: "go",
			OnInterrupt: store.InterruptRepeat})
		require.NoError(t, err)
		sent.follow(hosts[0], id(i), lifecycle.TypeInputRequired)
	}
	answer := func(i int, text string) (receipt lifecycle.Receipt) {
		require.Eventually(t, func() bool {
			receipt, err = hosts[i%2].Reply(ctx, id(i), lifecycle.Reply{ID: 1, Text: text, Key: "k"})
			return err == nil
		}, patience, 10*time.Millisecond, "%v", err)
		return receipt
	}
	admin, err := pgx.Connect(ctx, primary.DSN(""))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var n int
		err := admin.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()`).
			Scan(&n)
		return err == nil && n == 1
	}, patience, 10*time.Millisecond)
	require.NoError(t, standby.Halt())
	for i := range runs {
		answer(i, "one")
		sent.follow(hosts[0], id(i), "")
	}
	lost := maps.Clone(sent.last)
	for event := range sent.body {
		require.NotContains(t, event, "@", "nothing was restored before")
	}
	require.NoError(t, admin.Close(ctx))
	require.NoError(t, primary.Kill())
	require.NoError(t, standby.Resume(ctx))
	require.NoError(t, standby.Promote(ctx))
	var both sync.WaitGroup
	for h := range hosts {
		both.Go(func() {
			for i := h; i < runs; i += 2 {
				_ = second(hosts[h].Submit(ctx, lifecycle.Spec{ID: fmt.Sprint("new", i), Prompt: "go"}))
			}
		})
	}
	both.Wait()
	raised := map[uint64]bool{}
	for i := range runs {
		require.False(t, answer(i, "two").Replayed, "the receipt of the lost reply")
	}
	for i := range runs {
		sent.follow(hosts[0], id(i), "")
		require.NotEqual(t, lost[id(i)], sent.last[id(i)])
		require.ErrorIs(t, hosts[1].CheckCursor(ctx, id(i), lost[id(i)]), lifecycle.ErrCursorBeyondEnd)
		require.NoError(t, hosts[1].CheckCursor(ctx, id(i), sent.last[id(i)]))
		raised[sent.last[id(i)].Incarnation] = true
	}
	require.Len(t, raised, 1, "it is raised once")
	require.NotContains(t, raised, uint64(0))
	t.Logf("%d ids", len(sent.body))
}

// A database is restored from a base backup and archived WAL, and then once more to the same moment:
// no event has the id of a lost event, even for a client that is connected all the time. Runs wait for
// their answers again, and runs that were submitted after that moment are gone.
func TestR5RestoreToAPointInTimeRepeatsNoEventID(t *testing.T) {
	ctx := t.Context()
	primary := pgtest.Start(t, pglocal.Options{Settings: map[string]string{"shared_buffers": "16MB",
		"archive_mode": "on", "archive_command": "mkdir -p ../archive && cp %p ../archive/%f"}})
	archive := filepath.Join(filepath.Dir(dataOf(t, primary)), "archive")
	backups := []*pglocal.Server{backedUp(t, primary, archive), backedUp(t, primary, archive)}
	u, err := url.Parse(primary.DSN(""))
	require.NoError(t, err)
	u.Host += "," + backups[0].Addr() + "," + backups[1].Addr()
	u.RawQuery += "&target_session_attrs=read-write"
	anywhere, err := postgres.Open(ctx, u.String(), postgres.Options{Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, anywhere.Close()) })
	client := mustClient(t, anywhere)

	const runs = 6
	sent := &sentEvents{t, map[string]string{}, map[string]lifecycle.Cursor{}}
	old := func(i int) string { return fmt.Sprint("old", i) }
	late := func(i int) string { return fmt.Sprint("late", i) }
	submit := func(t *testing.T, lc *lifecycle.Lifecycle, id string) {
		t.Helper()
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "go"})
		require.NoError(t, err)
		sent.follow(lc, id, lifecycle.TypeInputRequired)
	}
	// proceed has the client answer the old runs, follows them to their ends, and submits the late
	// ones.
	proceed := func(t *testing.T, lc *lifecycle.Lifecycle) {
		t.Helper()
		for i := range runs {
			receipt, err := client.Reply(ctx, old(i), lifecycle.Reply{ID: 1, Text: t.Name(), Key: "k"})
			require.NoError(t, err)
			require.False(t, receipt.Replayed, "the receipt of a lost reply")
			sent.follow(lc, old(i), "")
			run, err := client.Get(ctx, old(i))
			require.NoError(t, err)
			require.Equal(t, fsm.StateSucceeded, run.State)
			submit(t, lc, late(i))
		}
	}
	t.Run("original", func(t *testing.T) {
		sent.T = t
		lc := hosted(t, primary.DSN(""))
		for i := range runs {
			submit(t, lc, old(i))
		}
		admin, err := pgx.Connect(ctx, primary.DSN(""))
		require.NoError(t, err)
		_, err = admin.Exec(ctx, `SELECT pg_create_restore_point('noted')`)
		require.NoError(t, err)
		require.NoError(t, admin.Close(ctx))
		proceed(t, lc)
	})
	require.NoError(t, primary.Halt()) // archives everything

	var lost []map[string]lifecycle.Cursor
	for _, restored := range backups {
		lost = append(lost, maps.Clone(sent.last))
		t.Run("restored", func(t *testing.T) {
			sent.T = t
			require.NoError(t, restored.Resume(ctx))
			awaitPrimary(t, restored)
			require.Eventually(t, func() bool { return second(client.Get(ctx, old(0))) == nil }, patience,
				10*time.Millisecond)
			lc := hosted(t, restored.DSN(""))
			requireLost := func(id string) {
				t.Helper()
				for _, cursors := range lost {
					require.ErrorIs(t, client.CheckCursor(ctx, id, cursors[id]), lifecycle.ErrCursorBeyondEnd)
				}
			}
			known := len(sent.body)
			for i := range runs {
				sent.follow(lc, old(i), lifecycle.TypeInputRequired)
				requireLost(old(i))
				require.ErrorIs(t, second(client.Get(ctx, late(i))), lifecycle.ErrNotFound)
			}
			require.Len(t, sent.body, known, "surviving events keep their ids")
			proceed(t, lc)
			for i := range runs {
				requireLost(old(i))
				requireLost(late(i))
			}
		})
		require.NoError(t, restored.Halt()) // as for the primary
	}
}

// backedUp takes a base backup of the server. Its Resume restores it to the point "noted" with the
// archive, and archives from then on, too.
func backedUp(t *testing.T, server *pglocal.Server, archive string) *pglocal.Server {
	t.Helper()
	backup, err := server.Standby(t.Context(), pglocal.Options{Settings: map[string]string{"shared_buffers": "16MB",
		"archive_mode": "on", "archive_command": `cp %p "` + archive + `/%f"`,
		"restore_command": `cp "` + archive + `/%f" %p`, "recovery_target_name": "noted",
		"recovery_target_action": "promote"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, backup.Stop()) })
	data := dataOf(t, backup)
	require.NoError(t, backup.Halt())
	// It reads only the archive from now on, and does not follow the server.
	require.NoError(t, os.Rename(filepath.Join(data, "standby.signal"), filepath.Join(data, "recovery.signal")))
	return backup
}

func dataOf(t *testing.T, server *pglocal.Server) (folder string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.DSN(""))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	require.NoError(t, conn.QueryRow(t.Context(), `SHOW data_directory`).Scan(&folder))
	return folder
}

// awaitPrimary waits until the server has ended its recovery.
func awaitPrimary(t *testing.T, server *pglocal.Server) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), server.DSN("")+"&target_session_attrs=read-write")
		return err == nil && conn.Close(t.Context()) == nil
	}, patience, 10*time.Millisecond)
}

// Restored raises the incarnation of open stores too: also of claims, of a host's transaction and of
// runs created meanwhile. Two calls raise it twice, an interrupted call never. Earlier releases refuse
// the schema.
func TestR5OpenStoresNoticeARestore(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	also := w.open(postgres.Options{NoListen: true, NoNotify: true})
	var before uint64
	marked := func(id string) uint64 {
		t.Helper()
		events, err := s.Events(t.Context(), id, 0, 100)
		require.NoError(t, err)
		require.NotEmpty(t, events)
		var n uint64
		_, _ = fmt.Sscanf(string(events[len(events)-1].Body), "marked %d", &n)
		return n
	}
	raised := func(id string) {
		t.Helper()
		n := marked(id)
		require.Greater(t, n, before, id)
	}
	restore := func() {
		t.Helper()
		require.NoError(t, postgres.Restored(t.Context(), w.dsn, w.schema))
	}
	run := w.commit(s, withMarker(created("r")))
	require.Zero(t, marked("r"))

	restore()
	raised(w.commit(also, withMarker(created("created"))).ID)
	require.ErrorIs(t, w.try(s, withMarker(report(run))), store.ErrConflict, "it was read before")
	raised(w.commit(s, withMarker(report(w.load(s, "r")))).ID)
	first := marked("r")
	require.Equal(t, first, marked("created"))

	before = first
	restore()
	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Hinted: true,
		Start: func(r store.Run, spec []byte) (store.Commit, error) {
			c, err := start(r, spec)
			return withMarker(c), err
		}})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	raised(claimed[0].Run.ID)

	before = marked(claimed[0].Run.ID)
	restore()
	tx := w.beginTx(pgx.ReadCommitted)
	w.commit(s.In(tx), withMarker(created("in a transaction")))
	require.NoError(t, tx.Commit(t.Context()))
	raised("in a transaction")

	held := w.beginTx(pgx.ReadCommitted) // has written events
	w.commit(s.In(held), withMarker(created("held")))
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, postgres.Restored(short, w.dsn, w.schema))
	require.NoError(t, held.Commit(t.Context()))
	w.commit(also, withMarker(created("later")))
	require.Equal(t, marked("held"), marked("later"), "the call that was cut off has no effect")

	_, err = postgres.OpenWith(t.Context(), w.dsn, postgres.Options{Schema: w.schema}, postgres.Migrations()[:10])
	require.ErrorIs(t, err, postgres.ErrNewer)
}

// A process is killed after each statement, before it reads the answer. If it was calling Restored,
// the incarnation was raised or nothing was changed. If it was the first to write after a promotion,
// either it has raised the incarnation or the next process raises it, never both. No event is stored
// with an old incarnation.
func TestR5AKilledProcessLeavesNoOldIncarnation(t *testing.T) {
	w, s := newWorld(t, quiet)
	ctx, admin := t.Context(), w.connect()
	exec := func(sql string) {
		t.Helper()
		require.NoError(t, second(admin.Exec(ctx, w.inSchema(sql))))
	}
	for _, text := range []string{
		`CREATE TABLE interlude.raised AS SELECT incarnation FROM interlude.store LIMIT 0`,
		`CREATE FUNCTION interlude.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO interlude.raised VALUES (NEW.incarnation); RETURN NULL; END $$`,
		`CREATE TRIGGER note AFTER UPDATE OF incarnation ON interlude.store FOR EACH ROW
			EXECUTE FUNCTION interlude.note()`,
	} {
		exec(text)
	}
	w.commit(s, withMarker(created("ours")))
	theirs := w.commit(s, withMarker(created("theirs")))
	number := func(sql string, args ...any) (n int) {
		t.Helper()
		require.NoError(t, admin.QueryRow(ctx, w.inSchema(sql), args...).Scan(&n))
		return n
	}
	const refusing = `SELECT count(*) FROM interlude.migrations WHERE name = '0011_incarnation.sql' AND oldest = version`
	for _, call := range []struct {
		name     string
		restores bool
		prepare  func(w *world) (do func(id string) error) // before the promotion
	}{
		{"restored", true, func(w *world) func(string) error {
			return func(string) error { return postgres.Restored(ctx, w.dsn, w.schema) }
		}},
		{"open", false, func(w *world) func(string) error {
			return func(string) error {
				s, err := postgres.Open(ctx, w.dsn, postgres.Options{Schema: w.schema, NoListen: true, NoNotify: true})
				if err == nil {
					err = s.Close()
				}
				return err
			}
		}},
		{"commit", false, func(w *world) func(string) error {
			s := w.open(quiet)
			return func(id string) error {
				both := []store.Commit{withMarker(created(id)), withMarker(report(theirs))}
				errs := s.Commit(ctx, both)
				if !errors.Is(errs[1], store.ErrConflict) { // it was read before the promotion
					return errors.Join(errs...)
				}
				r, err := s.Run(ctx, theirs.ID)
				if err == nil {
					err = w.try(s, withMarker(report(r)))
				}
				return errors.Join(errs[0], err)
			}
		}},
		{"claim", false, func(w *world) func(string) error {
			s := w.open(quiet)
			return func(string) error {
				return second(s.Claim(ctx, store.ClaimRequest{Node: "n", Now: noon, Max: 1, Hinted: true,
					Start: func(r store.Run, spec []byte) (store.Commit, error) {
						c, err := start(r, spec)
						return withMarker(c), err
					}}))
			}
		}},
		{"transaction", false, func(w *world) func(string) error {
			s, conn := w.open(quiet), w.connect()
			return func(id string) error {
				return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					return w.try(s.In(tx), withMarker(created(id)))
				})
			}
		}},
	} {
		for n, killed := 0, true; killed; n++ {
			id := fmt.Sprint(call.name, " ", n)
			t.Run(id, func(t *testing.T) {
				p, dsn := newProxy(t, w.dsn)
				do := call.prepare(&world{t, pgtest.With(dsn, "default_query_exec_mode=exec"), w.schema})
				w.commit(s, withMarker(created("for a claim, "+id)))
				theirs = w.load(s, theirs.ID)
				exec(`TRUNCATE interlude.raised`)
				exec(`UPDATE interlude.migrations SET oldest = 1`)
				if !call.restores {
					exec(`UPDATE interlude.store SET timeline = '00000000'`) // as after a promotion
				}
				before := number(`SELECT incarnation FROM interlude.store`)
				events := number(`SELECT count(*) FROM interlude.events`)

				p.killAfter(n)
				err := do(id)
				if killed = p.disarm(); !killed {
					require.NoError(t, err)
				}
				replace(w, s, "ours", func(r store.Run) store.Commit { return withMarker(report(r)) })
				raised := number(`SELECT count(*) FROM interlude.raised`)
				now := number(`SELECT incarnation FROM interlude.store`)
				if call.restores {
					require.Equal(t, raised, number(refusing), "it has both effects or none")
				}
				if call.restores && err != nil && raised == 0 {
					return
				}
				require.Equal(t, 1, raised)
				require.Greater(t, now, before)
				require.Equal(t, events, number(`SELECT count(*) FROM interlude.events
					WHERE convert_from(bodies, 'UTF8') NOT LIKE $1`, fmt.Sprintf("marked %d: %%", now)))
			})
			if t.Failed() {
				return
			}
		}
	}
}

// After a promotion, the first event is written in a host's transaction that stays open: other
// writers do not wait for it, and all have the same incarnation. A transaction that cannot see it is
// to be repeated.
func TestR5AnOpenTransactionDelaysNoEventAfterAPromotion(t *testing.T) {
	w, s := newWorld(t, quiet)
	w.commit(s, created("r"))
	w.exec(`UPDATE interlude.store SET timeline = '00000000'`)
	early, held := w.beginTx(pgx.RepeatableRead), w.beginTx(pgx.ReadCommitted)
	require.NoError(t, second(early.Exec(t.Context(), `SELECT FROM pg_class`)))
	w.commit(s.In(held), withMarker(created("held")))
	w.commit(w.open(quiet), withMarker(created("opened")))
	w.commit(s, withMarker(created("of the same process")))
	require.ErrorIs(t, w.try(s.In(early), withMarker(created("early"))), postgres.ErrSerialization)
	require.NoError(t, held.Commit(t.Context()))
	marks := map[string]bool{}
	for _, id := range []string{"held", "opened", "of the same process"} {
		events, err := s.Events(t.Context(), id, 0, 1)
		require.NoError(t, err)
		mark, _, _ := strings.Cut(string(events[0].Body), ":")
		marks[mark] = true
	}
	require.Len(t, marks, 1)
	require.Contains(t, slices.Collect(maps.Keys(marks))[0], "marked")
}

// A server may hide its timeline, and a role may only read: stores open nevertheless. Without the
// timeline, only Restored raises the incarnation.
func TestR5AServerMayHideItsTimeline(t *testing.T) {
	w := &world{t, pgtest.DSN(t), postgres.DefaultSchema}
	owner := w.dsn
	require.NoError(t, postgres.Migrate(t.Context(), owner, ""))
	w.open(quiet, "default_transaction_read_only=on")
	node, dsn := w.newRole("")
	w.grant("interlude_node", node)
	w.exec(`REVOKE EXECUTE ON FUNCTION pg_catalog.pg_walfile_name(pg_lsn) FROM PUBLIC`)
	w.dsn = dsn
	s := w.open(quiet)
	w.furnish(s)
	last := func(id string) (body string) {
		events, err := s.Events(t.Context(), id, 0, 100)
		require.NoError(t, err)
		return string(events[len(events)-1].Body)
	}
	w.commit(s, withMarker(created("r")))
	require.NotContains(t, last("r"), "marked")
	require.NoError(t, postgres.Restored(t.Context(), owner, ""))
	w.commit(s, withMarker(report(w.load(s, "r"))))
	require.Contains(t, last("r"), "marked")
}

// withMarker has the commit's events marked.
func withMarker(c store.Commit) store.Commit {
	c.Marker = marker{}
	return c
}

type marker struct{}

func (marker) Mark(body []byte, incarnation uint64) []byte {
	return fmt.Appendf(nil, "marked %d: %s", incarnation, body)
}
