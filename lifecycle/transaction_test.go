package lifecycle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// transactionView is a memory store that acts as the view of a transaction. Its writes are stored
// immediately.
type transactionView struct{ store.Store }

func (transactionView) InTransaction() {}

// hangingTransaction is an engine whose host writes a journal entry in a transaction that hangs
// until the channel is closed. What AppendIn then returns is sent to returned.
type hangingTransaction struct {
	view     any
	hang     chan struct{}
	returned chan error
}

func (hangingTransaction) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: engine.Resumable, Plain: true}, nil
}

func (e hangingTransaction) RunTurn(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
	err := s.(engine.TransactionalJournal).AppendIn(ctx, func(
		write func(ctx context.Context, view any, entries ...engine.JournalEntry) error) error {
		entry := engine.JournalEntry{Path: "1", Name: "charge", Type: "step", Body: []byte("{}")}
		if err := write(ctx, e.view, entry); err != nil {
			return err
		}
		<-e.hang
		return nil
	})
	e.returned <- err
	return engine.Outcome{}, err
}

// J10 M1: a transaction of the host that hangs keeps neither Serve nor the turn from ending. Its
// stored writes stay, and the turn's end is decided on them.
func TestHungTransactionOfTheHostDoesNotKeepTheTurn(t *testing.T) {
	for name, spec := range map[string]Spec{
		"shutdown":     {Prompt: "x"},
		"turn timeout": {Prompt: "x", TurnTimeout: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := memory.New()
				e := hangingTransaction{transactionView{st}, make(chan struct{}), make(chan error, 1)}
				lc, err := New(Config{Store: st, Engine: e, Grace: -1})
				require.NoError(t, err)
				defer lc.Close()
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- lc.Serve(ctx) }()
				run, err := lc.Submit(t.Context(), spec)
				require.NoError(t, err)
				if spec.TurnTimeout == 0 {
					time.Sleep(time.Second)
					cancel()
				}
				run, err = lc.Wait(t.Context(), run.ID)
				require.NoError(t, err)
				require.Equal(t, fsm.StateFailed, run.State)
				require.Equal(t, 1, run.Journal.Entries)
				cancel()
				require.ErrorContains(t, <-served, "left behind: RunTurn")

				close(e.hang)
				require.ErrorIs(t, <-e.returned, engine.ErrStale)
				synctest.Wait()
				after, err := lc.Get(t.Context(), run.ID)
				require.NoError(t, err)
				require.Equal(t, run.Version, after.Version, "what comes later changes nothing")
			})
		})
	}
}

// panickingView is a view of a transaction whose Commit panics.
type panickingView struct{ transactionView }

func (panickingView) Commit(context.Context, []store.Commit) []error { panic("the connection is gone") }

// J10 M1: a panic within a transaction of the host ends the turn, and leaves nothing locked.
func TestPanicInATransactionOfTheHostFailsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New()
		e := hangingTransaction{view: panickingView{transactionView{st}}}
		lc, err := New(Config{Store: st, Engine: e})
		require.NoError(t, err)
		defer lc.Close()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		run, err := lc.Submit(t.Context(), Spec{Prompt: "x"})
		require.NoError(t, err)
		run, err = lc.Wait(t.Context(), run.ID)
		require.NoError(t, err)
		require.Equal(t, fsm.StateFailed, run.State)
		require.Contains(t, run.Error.Message, "the connection is gone")
		cancel()
		require.NoError(t, <-served)
	})
}
