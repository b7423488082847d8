package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/store"
)

// TestALongLogIsReplayedAtOnce: F8 F9, page by page, and not one page in a poll; whether pages end
// because there are many events or large ones.
func TestALongLogIsReplayedAtOnce(t *testing.T) {
	for _, c := range []struct {
		events int
		size   int // of a message, in bytes
		looks  int64
	}{
		{1, 10, 1}, {255, 10, 1}, {256, 10, 2}, {257, 10, 2}, {1000, 10, 4}, {20, maxMessage, 5},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes", c.events, c.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				below := newStore(t)
				s := &counted{Store: below}
				client := clientOf(t, hintless{s})
				run, err := client.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
				require.NoError(t, err)
				text := strings.Repeat("x", c.size)
				for int(run.Seq) < c.events {
					cm, err := report(&run, stamp(client.clock), nil, telling{contract.TypeMessageIntermediate,
						map[string]any{"text": text}})
					require.NoError(t, err)
					require.NoError(t, client.commit(t.Context(), cm))
					run = cm.Run
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				began, seen := time.Now(), 0
				var failure error
				for event, err := range client.Events(ctx, "r", 0) {
					if failure = err; err == nil {
						seen++
						require.EqualValues(t, seen, event.Seq)
						require.Equal(t, began, time.Now())
					}
				}
				require.ErrorIs(t, failure, context.DeadlineExceeded)
				require.Equal(t, c.events, seen)
				require.LessOrEqual(t, s.looks.Load(), c.looks+1, "and one for the run")
			})
		})
	}
}

// garbled is a store of which an event has become unreadable.
type garbled struct{ store.Store }

func (g garbled) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	page, err := g.Store.Events(ctx, id, after, limit)
	if len(page) > 1 {
		page[1].Body = []byte("{")
	}
	return page, err
}

// TestAnEventThatCannotBeReadIsNamed, and those before it are told.
func TestAnEventThatCannotBeReadIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientOf(t, garbled{newStore(t)})
		submitted(t, c, "r", 3)
		var seqs []uint64
		var failure error
		for event, err := range c.Events(t.Context(), "r", 0) {
			if failure = err; err == nil {
				seqs = append(seqs, event.Seq)
			}
		}
		require.Equal(t, []uint64{1}, seqs)
		require.ErrorContains(t, failure, "lifecycle: event 2 of run r: ")
		for _, err := range c.Events(t.Context(), "unknown", 0) {
			require.ErrorIs(t, err, ErrNotFound)
			require.ErrorContains(t, err, "lifecycle: events of run unknown: ")
		}
	})
}
