package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// database is a host's database, with the run's store and the host's rows.
type database struct {
	*memory.Store

	mu       sync.Mutex
	rows     []string     // guarded by mu
	begun    int          // guarded by mu
	fates    []fate       // guarded by mu; of the first transactions; later ones are committed
	underway *transaction // guarded by mu; ends before any other change of the run
}

// transaction is a transaction of the database, and a view of the store.
type transaction struct {
	*database

	number  int
	rows    []string
	commits []store.Commit
	fate    fate
}

type fate string

// The fates of a transaction.
const (
	committed   fate = "committed"
	rolledBack  fate = "rolled back"
	answerLost  fate = "committed, and the host does not learn of it"
	commitsLate fate = "committed after the host has lost its connection"
	endsLate    fate = "rolled back after the host has lost its connection"
	forgotten   fate = "rolled back, and the host takes it for committed"
	refused     fate = "refused by the fence"
	unknownRun  fate = "of a database that does not have the run"
)

var errTx = errors.New("the connection is lost")

func (*transaction) InTransaction() {}

func (x *transaction) Commit(_ context.Context, batch []store.Commit) []error {
	switch x.fate {
	case refused:
		return []error{store.ErrStaleEpoch}
	case unknownRun:
		return []error{store.ErrNotFound}
	}
	x.commits = append(x.commits, batch...)
	return make([]error, len(batch))
}

// end commits the transaction. The caller holds mu.
func (x *transaction) end(ctx context.Context) error {
	if x.fate == endsLate {
		return errTx
	}
	err := errors.Join(x.Store.Commit(ctx, x.commits)...)
	if err == nil {
		x.database.rows = append(x.database.rows, x.rows...)
	}
	return err
}

// Commit ends the transaction under way first.
func (d *database) Commit(ctx context.Context, batch []store.Commit) []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.underway; x != nil {
		d.underway = nil
		_ = x.end(ctx)
	}
	return d.Store.Commit(ctx, batch)
}

// transact is a flow.Transaction.
func (d *database) transact(ctx context.Context, do func(x *transaction, view any) error) error {
	d.mu.Lock()
	x := &transaction{database: d, fate: committed}
	if d.begun < len(d.fates) {
		x.fate = d.fates[d.begun]
	}
	d.begun++
	x.number = d.begun
	d.mu.Unlock()
	if flow.Key(ctx) != "" {
		return errors.New("the transaction is not the step")
	}
	if err := do(x, x); err != nil {
		return fmt.Errorf("rolled back: %v", err) //nolint:errorlint // a host may use its own words
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch x.fate {
	case rolledBack:
		return errTx
	case forgotten:
		return nil
	case commitsLate, endsLate:
		d.underway = x
		return errTx
	}
	if err := x.end(ctx); err != nil || x.fate == committed {
		return err
	}
	return errTx
}

// charge is a step that inserts a row.
func charge(ctx context.Context, x *transaction) (string, error) {
	x.rows = append(x.rows, flow.Key(ctx))
	return fmt.Sprint("charge ", x.number), nil
}

// M1: a step and its record are one transaction of the host's. Whatever happens to the transaction,
// the host's table has one row per step, and the function has the stored result.
func TestM1AStepInTheHostsTransactionHappensOnce(t *testing.T) {
	for _, test := range []struct {
		fates []fate
		tries int
		turns int
	}{
		{[]fate{committed}, 1, 1},
		{[]fate{rolledBack, rolledBack}, 3, 1},
		{[]fate{answerLost}, 1, 1},
		{[]fate{commitsLate}, 1, 1},
		{[]fate{rolledBack, commitsLate}, 2, 1},
		{[]fate{endsLate, endsLate, commitsLate}, 3, 1},
		{[]fate{forgotten}, 2, 2},
		{[]fate{refused}, 2, 2},
	} {
		t.Run(fmt.Sprint(test.fates), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &database{Store: memory.New(), fates: test.fates}
				h := serve(t, d, flow.New("order", func(c *flow.Ctx, _ string) (string, error) {
					if err := c.Say("charging"); err != nil {
						return "", err
					}
					first, err := flow.StepIn(c, "charge", d.transact, charge, flow.Policy{Retries: 2})
					if err != nil {
						return "", err
					}
					second, err := flow.Step(c, "mail", func(context.Context) (string, error) { return "mail", nil })
					if err != nil {
						return "", err
					}
					_, err = flow.Ask[string](c, "ship", ask("Ship?"))
					return first + ", " + second, err
				}))
				h.submit(lifecycle.Spec{})
				for range test.turns * 10 { // pauses of retries, and the heartbeats that find a lost turn
					time.Sleep(4 * time.Hour)
				}
				require.Equal(t, lifecycle.StateWaitingUser, h.run().State)
				d.mu.Lock()
				require.Equal(t, []string{"r/2/charge"}, d.rows)
				require.Equal(t, test.tries, d.begun)
				d.mu.Unlock()
				require.Equal(t, test.turns, h.run().Attempt)
				h.reply(1, "yes")
				require.Equal(t, fmt.Sprintf("charge %d, mail", test.tries), h.ended(), "in the later turn, too")
				entries, err := d.Journal(t.Context(), "r")
				require.NoError(t, err)
				require.Len(t, entries, 3, "say, charge and mail")
				require.Equal(t, 3, h.run().Journal.Entries)
			})
		})
	}
}

// M1: a failing step's transaction is rolled back, and its error is stored as for any step.
func TestM1AFailingStepLeavesNothingInTheHostsDatabase(t *testing.T) {
	failing := func(ctx context.Context, x *transaction) (string, error) {
		_, _ = charge(ctx, x)
		return "", errors.New("no money")
	}
	large := func(ctx context.Context, x *transaction) (string, error) {
		_, _ = charge(ctx, x)
		return strings.Repeat("x", engine.MaxJournalBody), nil
	}
	later := func(ctx context.Context, x *transaction) (string, error) {
		_, _ = charge(ctx, x)
		if x.number == 1 {
			return "", engine.Later(time.Minute, "busy")
		}
		return "charged", nil
	}
	for name, test := range map[string]struct {
		fates []fate
		step  func(context.Context, *transaction) (string, error)
		want  string
		rows  []string
	}{
		"an error of the step":   {nil, failing, "step charge: no money", nil},
		"one of the transaction": {[]fate{rolledBack}, charge, "step charge: the connection is lost", nil},
		"one that is later":      {[]fate{endsLate}, charge, "step charge: the connection is lost", nil},
		"a result that is large": {nil, large, "ENGINE_FAILED: step \"charge\" at 1 cannot be stored: ", nil},
		"a step that is put off": {nil, later, "charged", []string{"r/1/charge"}},
		"another database's view": {slices.Repeat([]fate{unknownRun}, 100), charge,
			"held: a transaction of the host uses a database", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &database{Store: memory.New(), fates: test.fates}
				h := serve(t, d, flow.New("order", func(c *flow.Ctx, _ string) (string, error) {
					got, err := flow.StepIn(c, "charge", d.transact, test.step)
					if e := (*flow.StepError)(nil); errors.As(err, &e) {
						return e.Error(), nil
					}
					return got, err
				}))
				h.submit(lifecycle.Spec{})
				time.Sleep(5 * time.Hour)
				r := h.run()
				got := r.FinalText
				switch {
				case r.Error != nil:
					got = string(r.Error.Code) + ": " + r.Error.Message
				case r.Block != nil:
					got = "held: " + r.Block.Reason
				}
				require.Contains(t, got, test.want)
				d.mu.Lock()
				defer d.mu.Unlock()
				require.Equal(t, test.rows, d.rows)
			})
		})
	}
}

// M1: an invalid transaction, or one outside the run's store, stores nothing.
func TestM1TransactionsThatAreNone(t *testing.T) {
	const broken = "step charge: engine: the host's transaction has not executed the step, or not returned why it is " +
		"rolled back"
	for name, test := range map[string]struct {
		want string
		in   func(d *database) flow.Transaction[*transaction]
	}{
		"the store itself": {"held: a transaction of the host's has a *flow_test.database, which is no view", func(
			d *database) flow.Transaction[*transaction] {
			return func(_ context.Context, do func(*transaction, any) error) error {
				return do(&transaction{database: d}, d)
			}
		}},
		"nothing": {broken, func(*database) flow.Transaction[*transaction] {
			return func(context.Context, func(*transaction, any) error) error { return nil }
		}},
		"without its error": {"held: a transaction of the host's has a <nil>, which is no view", func(
			d *database) flow.Transaction[*transaction] {
			return func(_ context.Context, do func(*transaction, any) error) error {
				x := &transaction{database: d}
				_ = do(x, nil)
				return nil
			}
		}},
		"twice": {broken, func(d *database) flow.Transaction[*transaction] {
			return func(_ context.Context, do func(*transaction, any) error) error {
				x := &transaction{database: d}
				return errors.Join(do(x, x), do(x, x))
			}
		}},
		"panic": {"step charge: panic: of the host", func(d *database) flow.Transaction[*transaction] {
			return func(_ context.Context, do func(*transaction, any) error) error {
				x := &transaction{database: d}
				if do(x, x) == nil {
					panic("of the host")
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &database{Store: memory.New()}
				h := serve(t, d, flow.New("order", func(c *flow.Ctx, _ string) (string, error) {
					got, err := flow.StepIn(c, "charge", test.in(d), charge)
					if e := (*flow.StepError)(nil); errors.As(err, &e) {
						return e.Error(), nil
					}
					return got, err
				}))
				h.submit(lifecycle.Spec{})
				r := h.run()
				got := r.FinalText
				if r.Block != nil {
					got = "held: " + r.Block.Reason
				}
				require.Contains(t, got, test.want)
				require.Empty(t, d.rows)
			})
		})
	}
	_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
		return flow.StepIn(c, "charge", (&database{}).transact, charge)
	})
	require.ErrorContains(t, err, "not possible here")
}

// M1: branches have concurrent transactions, and report in them.
func TestM1BranchesHaveTransactionsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{Store: memory.New(), fates: []fate{answerLost, commitsLate, rolledBack, committed, endsLate}}
		h := serve(t, d, flow.New("order", func(c *flow.Ctx, _ string) (string, error) {
			reporting := func(ctx context.Context, x *transaction) (string, error) {
				if err := flow.Progress(ctx, "charging"); err != nil {
					return "", err
				}
				return charge(ctx, x)
			}
			branch := func(c *flow.Ctx) error {
				_, err := flow.StepIn(c, "charge", d.transact, reporting, flow.Policy{Retries: 3})
				return err
			}
			return "done", flow.All(c, branch, branch, branch, branch)
		}))
		h.submit(lifecycle.Spec{})
		time.Sleep(5 * time.Hour)
		require.Equal(t, "done", h.ended())
		d.mu.Lock()
		defer d.mu.Unlock()
		slices.Sort(d.rows)
		require.Equal(t, []string{"r/1.b1.1/charge", "r/1.b2.1/charge", "r/1.b3.1/charge", "r/1.b4.1/charge"}, d.rows)
		require.Equal(t, 6, d.begun)
	})
}

// journaled is a desk with transactions. The first of them, as many as fails says, are rolled back.
type journaled struct {
	desk

	err   error // of each call of AppendIn
	fails int   // how many transactions are rolled back after the write
	begun int
	first []int // the writes before the first transaction
}

func (j *journaled) AppendIn(ctx context.Context, transaction func(func(context.Context, any,
	...engine.JournalEntry) error) error) error {
	if j.begun++; j.begun == 1 {
		j.first = slices.Clone(j.writes)
	}
	if j.err != nil {
		return j.err
	}
	var written []engine.JournalEntry
	err := transaction(func(_ context.Context, _ any, entries ...engine.JournalEntry) error {
		written = entries
		return nil
	})
	if err == nil && j.begun <= j.fails {
		err = errTx
	}
	if err == nil {
		err = j.Append(ctx, written...)
	}
	return err
}

// stepIn is a turn with an answered question and a step in a transaction, whose result has this size.
func (j *journaled) stepIn(t *testing.T, size, retries int) (engine.Outcome, error) {
	t.Helper()
	in := func(_ context.Context, do func(tx int, view any) error) error { return do(0, nil) }
	return flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
		if _, err := flow.Ask[string](c, "q", ask("?")); err != nil {
			return "", err
		}
		return flow.StepIn(c, "s", in, func(context.Context, int) (string, error) {
			return strings.Repeat("x", size), nil
		}, flow.Policy{Retries: retries, Backoff: 1, MaxBackoff: 1})
	}).RunTurn(t.Context(), engine.Turn{RunID: "r", Answers: []engine.Answer{{ID: 1, Ref: "flow 1 0 q"}}}, j)
}

// M1: pending entries are stored before a transaction of the host begins, because its rollback would
// lose them. An error of the journal is not an error of the step: it ends the turn without a retry.
func TestM1ErrorsOfTheJournalInATransaction(t *testing.T) {
	for _, why := range []error{engine.ErrStale, engine.ErrNoJournal, engine.ErrJournalFull} {
		j := &journaled{err: why}
		_, err := j.stepIn(t, 1, 3)
		require.ErrorIs(t, err, why)
		require.Equal(t, []int{1}, j.first, "the answer")
		require.Len(t, j.entries, 1)
		require.Equal(t, 1, j.begun)
	}
}

// M1: a failed transaction does not use up the journal, in entries or bytes.
func TestM1AFailedTransactionTakesNoRoom(t *testing.T) {
	full := slices.Repeat([]engine.JournalEntry{{Path: "9", Type: "step", Body: make([]byte, 1<<20)}}, 63)
	for name, test := range map[string]struct {
		kept        []engine.JournalEntry
		size, tries int // if each of the tries took room twice, there would not be enough
	}{
		"entries": {nil, 1, engine.MaxJournalEntries/2 + 2},
		"bytes":   {full, 100 << 10, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journaled{desk: desk{entries: test.kept}, fails: test.tries - 1}
				_, err := j.stepIn(t, test.size, test.tries)
				if len(test.kept) > 0 {
					require.ErrorContains(t, err, "the code ends before it") // it does not read these entries
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, test.tries, j.begun)
				require.Len(t, j.entries[len(test.kept):], 2, "the answer and the result")
			})
		})
	}
}
