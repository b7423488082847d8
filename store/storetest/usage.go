package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

func (w *world) usage(id string) []store.TurnUsage {
	w.Helper()
	turns, err := w.store.Usage(w.ctx, id)
	require.NoError(w, err)
	return turns
}

func spent(n int64) store.Usage {
	return store.Usage{InputTokens: 1000 * n, OutputTokens: 10 * n, CostMicroUSD: 7 * n,
		Worked: time.Duration(n) * time.Second}
}

// using adds usage to a commit, and counts it towards its run's budget.
func using(c store.Commit, n int64) store.Commit {
	u := spent(n)
	c.Usage = &u
	c.Run.Budget = c.Run.Budget.After(&u)
	return c
}

var usageCases = []promised{
	{
		"usage/is stored with the end of its turn",
		"A turn's usage can be read as soon as its end, under the number of its attempt, whether the turn asked, " +
			"was queued again or ended its run; a turn without usage has none (J13).",
		func(w *world) {
			r := w.running("a")
			require.Empty(w, w.usage("a"))
			w.commit(using(queuedAgain(r, w.tick()), 1))
			require.Equal(w, []store.TurnUsage{{Attempt: 1, Usage: spent(1)}}, w.usage("a"))
			r = w.commit(using(Asked(w.start("n"), w.tick(), false, time.Time{}), 2))
			w.commit(Answered(r, w.tick(), ""))
			w.commit(queuedAgain(w.start("n"), w.tick()))
			w.commit(using(ended(w.start("n"), w.tick(), fsm.StateFailed), 4))
			w.finished("b")
			require.Equal(w, []store.TurnUsage{{Attempt: 1, Usage: spent(1)}, {Attempt: 2, Usage: spent(2)},
				{Attempt: 4, Usage: spent(4)}}, w.usage("a"))
			require.Empty(w, w.usage("b"))
			_, err := w.store.Usage(w.ctx, "unknown")
			require.ErrorIs(w, err, store.ErrNotFound)
		},
	},
	{
		"usage/a refused commit leaves none",
		"A turn whose end is refused, because its worker was fenced off or its run has changed, leaves no usage; " +
			"the other commits of the batch leave theirs (J13, I2).",
		func(w *world) {
			stale, changed, fine := w.running("stale"), w.running("changed"), w.running("fine")
			w.commit(reported(changed, w.tick()))
			errs := w.store.Commit(w.ctx, []store.Commit{
				fenced(using(ended(stale, w.tick(), fsm.StateSucceeded), 1), "n", stale.Epoch+1),
				using(ended(changed, w.now, fsm.StateSucceeded), 2),
				fenced(using(ended(fine, w.now, fsm.StateSucceeded), 3), "n", fine.Epoch),
			})
			require.ErrorIs(w, errs[0], store.ErrStaleEpoch)
			require.ErrorIs(w, errs[1], store.ErrConflict)
			require.NoError(w, errs[2])
			require.Empty(w, w.usage("stale"))
			require.Empty(w, w.usage("changed"))
			require.Equal(w, []store.TurnUsage{{Attempt: 1, Usage: spent(3)}}, w.usage("fine"))
		},
	},
	{
		"usage/belongs to the end of a turn",
		"A commit that ends no turn has no usage, and no figure is negative, not a number or larger than MaxUsage: " +
			"anything else is ErrInvalid.",
		func(w *world) {
			require.ErrorIs(w, w.try(using(Created("new", w.tick()), 1)), store.ErrInvalid)
			parked := w.waiting("parked")
			require.ErrorIs(w, w.try(using(Answered(parked, w.tick(), ""), 1)), store.ErrInvalid)
			r := w.running("a")
			require.ErrorIs(w, w.try(using(reported(r, w.tick()), 1)), store.ErrInvalid)
			for _, u := range []store.Usage{
				{InputTokens: -1}, {OutputTokens: -1}, {CostMicroUSD: -1}, {Worked: -time.Microsecond},
				{InputTokens: store.MaxUsage + 1}, {OutputTokens: store.MaxUsage + 1},
				{CostMicroUSD: store.MaxUsage + 1}, {Worked: (store.MaxUsage + 1) * time.Microsecond},
				{Worked: time.Nanosecond},
			} {
				c := ended(r, w.tick(), fsm.StateSucceeded)
				c.Usage = &u
				require.ErrorIs(w, w.try(c), store.ErrInvalid, "%+v", u)
			}
			most := store.Usage{InputTokens: store.MaxUsage, OutputTokens: store.MaxUsage,
				CostMicroUSD: store.MaxUsage, Worked: store.MaxUsage * time.Microsecond}
			c := ended(r, w.tick(), fsm.StateSucceeded)
			c.Usage = &most
			w.commit(c)
			require.Equal(w, []store.TurnUsage{{Attempt: 1, Usage: most}}, w.usage("a"))
		},
	},
	{
		"usage/is summed until its run ends",
		"A survey sums the usage of the runs that have not ended, whatever their state (J13).",
		func(w *world) {
			require.Zero(w, w.survey().Usage)
			w.commit(using(ended(w.running("over"), w.tick(), fsm.StateSucceeded), 32))
			require.Zero(w, w.survey().Usage)
			w.commit(using(queuedAgain(w.running("again"), w.tick()), 1))
			again := w.start("n")
			w.commit(using(Asked(w.running("parked"), w.tick(), false, time.Time{}), 2))
			w.commit(using(Asked(w.running("sticky"), w.tick(), true, time.Time{}), 4))
			late := queuedAgain(w.running("later"), w.tick())
			late.Run.NotBefore = w.now.Add(time.Hour)
			w.commit(using(late, 8))
			w.commit(using(queuedAgain(w.running("ready"), w.tick()), 16))
			require.Equal(w, spent(1+2+4+8+16), w.survey().Usage)
			w.commit(using(ended(again, w.tick(), fsm.StateSucceeded), 64))
			require.Equal(w, spent(2+4+8+16), w.survey().Usage)
			w.commit(ended(w.load("parked"), w.tick(), fsm.StateCanceled))
			require.Equal(w, spent(4+8+16), w.survey().Usage)
			w.commit(ended(w.load("later"), w.tick(), fsm.StateCanceled))
			w.commit(ended(w.load("ready"), w.tick(), fsm.StateCanceled))
			require.Equal(w, spent(4), w.survey().Usage)
		},
	},
	{
		"usage/of a budget is what the turns have used",
		"The record of a run with a budget counts each start, and the tokens of each turn's usage, and nothing " +
			"else; the limits change only with a decision about the held run. Any other count is ErrInvalid (J13).",
		func(w *world) {
			w.submit("a", withBudget(3, 5000))
			r := w.start("n")
			require.Equal(w, store.Budget{Turns: 1}, r.Budget.Used)
			for _, change := range []func(*store.Run){
				func(r *store.Run) { r.Budget = nil },
				func(r *store.Run) { r.Budget.Limit.Tokens++ },
				func(r *store.Run) { r.Budget.Limit = store.Budget{} },
				func(r *store.Run) { r.Budget.Limit.Turns = -1 },
				func(r *store.Run) { r.Budget.Used.Tokens-- },
				func(r *store.Run) { r.Budget.Used.Tokens = 0 },
				func(r *store.Run) { r.Budget.Used.Turns++ },
				func(r *store.Run) { r.Budget.Used.Turns -= 2 },
			} {
				c := using(Held(r, w.tick(), time.Time{}), 2)
				c.Run = c.Run.Clone()
				change(&c.Run)
				w.refused(store.ErrInvalid, c)
			}
			c := using(queuedAgain(r, w.tick()), 1)
			c.Run.Budget.Used.Turns-- // a turn whose engine was not called does not count
			require.Equal(w, store.Budget{Turns: 0, Tokens: 1010}, w.commit(c).Budget.Used)
			r = w.commit(using(Held(w.start("n"), w.tick(), time.Time{}), 2))
			require.Equal(w, store.Budget{Turns: 1, Tokens: 3030}, r.Budget.Used)
			raised := unblocked(r, w.tick())
			raised.Run.Budget.Limit.Tokens *= 2
			r = w.commit(raised)
			require.Equal(w, store.Budget{Turns: 3, Tokens: 10_000}, r.Budget.Limit)
			w.commit(ended(w.start("n"), w.tick(), fsm.StateSucceeded))
			require.Equal(w, store.Budget{Turns: 2, Tokens: 3030}, w.load("a").Budget.Used)
			given := w.commit(Created("b", w.tick()))
			given.Budget = &store.RunBudget{Limit: store.Budget{Turns: 1}}
			w.refused(store.ErrInvalid, reported(given, w.tick()))
		},
	},
	{
		"usage/is deleted with its run",
		"Prune deletes the usage of a run too; another run with its id begins without any (J13).",
		func(w *world) {
			w.commit(using(ended(w.running("a"), w.tick(), fsm.StateSucceeded), 1))
			require.Equal(w, 1, w.prune(w.tick(), 9))
			_, err := w.store.Usage(w.ctx, "a")
			require.ErrorIs(w, err, store.ErrNotFound)
			w.commit(using(queuedAgain(w.running("a"), w.tick()), 2))
			require.Equal(w, []store.TurnUsage{{Attempt: 1, Usage: spent(2)}}, w.usage("a"))
			require.Equal(w, spent(2), w.survey().Usage)
		},
	},
}

var usageDurableCases = []promised{
	{
		"usage/survives a restart",
		"Acknowledged usage survives a close of the store and the death of its process (J13).",
		func(w *world) {
			n := int64(0)
			for _, restart := range w.restarts() {
				n++
				id := fmt.Sprint("r", n)
				w.commit(using(ended(w.running(id), w.tick(), fsm.StateSucceeded), n))
				w.store = restart(w, w.store)
				require.Equal(w, []store.TurnUsage{{Attempt: 1, Usage: spent(n)}}, w.usage(id))
			}
		},
	},
}
