package examples_test

import (
	"context"
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

var everyCrash = flag.Bool("every-crash", false, "crash at every commit on SQLite and PostgreSQL, too")
var seed = flag.Uint64("seed", 1, "the first seed")

// opener opens a host's store; stores make an empty one for a test, which each of its hosts opens.
type opener = func(ctx context.Context) (lifecycle.Store, error)

var stores = map[string]func(t *testing.T) opener{
	"memory": func(*testing.T) opener { return nil },
	"sqlite": func(t *testing.T) opener {
		path := filepath.Join(t.TempDir(), "runs.db")
		return func(ctx context.Context) (lifecycle.Store, error) {
			return sqlite.Open(ctx, path, sqlite.Options{WatchInterval: -1, Synchronous: sqlite.Normal})
		}
	},
	"postgres": func(t *testing.T) opener {
		dsn, schema := pgtest.Schema(t)
		dsn = pgtest.With(dsn, "pool_max_conn_idle_time=9999h", "pool_max_conn_lifetime=9999h") // the bubble's hours
		return func(ctx context.Context) (lifecycle.Store, error) {
			return postgres.Open(ctx, dsn, postgres.Options{Schema: schema, NoListen: true, ClockInterval: -1})
		}
	},
}

// payer asks whether it may call a tool, and calls it only with the approved arguments.
var payer = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	q, err := engine.ApprovalOf("Pay the invoice?", "pay", map[string]any{"to": "ACME", "amount": 420})
	if err != nil {
		return engine.Outcome{}, err
	}
	if len(t.Answers) == 0 {
		return engine.Ask(q), nil
	}
	arguments, err := t.Approved(q)
	if err != nil { // rejected, decided automatically, or the invoice has changed
		return engine.Done("not paid"), nil
	}
	return engine.Done("paid " + string(arguments)), nil
})

// payment is a run of the payer: people are reminded twice; after three days the invoice is
// rejected.
func payment(open opener, reply func(q lifecycle.Question) lifecycle.Reply) rehearsal.Case {
	const day = 24 * time.Hour
	return rehearsal.Case{
		Open:   open,
		Config: lifecycle.Config{Engine: payer, Forgiving: true, OnInterrupt: lifecycle.Repeat},
		Spec: lifecycle.Spec{Prompt: "Pay invoice 7.", Ask: &lifecycle.AskPolicy{
			Wait: &engine.Wait{
				Steps: []engine.WaitStep{{Do: engine.Remind, After: day}, {Do: engine.Remind, After: 2 * day}},
				End:   3 * day, Then: engine.ThenDefault, Default: &engine.DefaultReply{Decision: lifecycle.Reject},
			},
		}},
		Reply: reply,
	}
}

// M5: three days without an answer pass immediately, on each store.
func TestM5NobodyApprovesForThreeDays(t *testing.T) {
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			c := payment(newStore(t), nil)
			c.Story = `
				0s  user.input.required
				24h user.input.reminder
				48h user.input.reminder
				72h interaction.default.timeout`
			require.Equal(t, "not paid", rehearsal.Play(t, c).FinalText)
		})
	}
}

// M5: a person approves after the second reminder; a crash of the host at any commit changes
// nothing.
func TestM5ApprovedAfterTwoDaysWhateverCrashes(t *testing.T) {
	for name, newStore := range stores {
		newCase := func(t *testing.T) rehearsal.Case {
			c := payment(newStore(t), func(q lifecycle.Question) lifecycle.Reply {
				if q.Fired < 2 {
					return lifecycle.Reply{} // left open
				}
				return lifecycle.Reply{Decision: lifecycle.Approve, Seen: q.Digest()}
			})
			c.Story = `
				24h user.input.reminder
				48h user.input.reminder`
			c.Check = func(t *testing.T, run lifecycle.Run) {
				require.Equal(t, `paid {"amount":420,"to":"ACME"}`, run.FinalText)
			}
			return c
		}
		t.Run(name, func(t *testing.T) {
			if *everyCrash || name == "memory" {
				rehearsal.EveryCrash(t, newCase)
				return
			}
			rehearsal.Seeds(t, *seed, 2, newCase)
		})
	}
}
