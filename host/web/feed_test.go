package web_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// next requests the next events of the feed named copy.
func (w *world) next(body string) web.FeedEvents {
	w.t.Helper()
	a := w.send("POST", "/feeds/copy/next", "ada", body)
	require.Equal(w.t, http.StatusOK, a.status, "%s", a.body)
	var got web.FeedEvents
	a.into(w.t, &got)
	return got
}

// untilRead waits until the feed has a reader.
func (w *world) untilRead() {
	for {
		feeds, err := w.lc.Feeds(context.Background())
		if err != nil || len(feeds) > 0 && !feeds[0].Leased.IsZero() {
			return
		}
	}
}

// K8, L3: a feed's reader over HTTP gets each event of each run in order, in batches. Events are
// delivered again until they are acknowledged, also when a response was lost, and never after that.
func TestL3AFeedIsReadInBatchesUntilItIsAcknowledged(t *testing.T) {
	w := openFor(t)
	_, err := w.lc.CreateFeed(t.Context(), "copy", lifecycle.DefaultFeedLag)
	require.NoError(t, err)
	w.submit("r", "Ship?", "ada")
	w.submit("s", "Ship?", "ada")
	first := w.next(`{"limit":3}`)
	require.Len(t, first.Events, 3)
	require.Equal(t, first, w.next(`{"limit":3}`), "without an acknowledgement")

	last := first.Events[2]
	require.Equal(t, fmt.Sprintf("%s/%d", last.RunID, last.Seq), first.Ack)
	second := w.next(`{"limit":500,"ack":"` + first.Ack + `"}`)
	require.Equal(t, second, w.next(`{"limit":500,"ack":"`+first.Ack+`"}`), "after a lost response")
	seqs := make(map[string]uint64)
	for _, e := range append(first.Events, second.Events...) {
		seqs[e.RunID]++
		require.Equal(t, seqs[e.RunID], e.Seq, "in order, without a gap or a duplicate")
	}
	for _, id := range []string{"r", "s"} {
		run, err := w.lc.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, run.Seq, seqs[id])
	}
	require.Equal(t, web.FeedEvents{Events: []lifecycle.Event{}}, w.next(`{"wait_sec":1,"ack":"`+second.Ack+`"}`))

	replied := make(chan error, 1)
	go func() {
		w.untilRead()
		_, err := w.lc.Reply(context.Background(), "r", lifecycle.Reply{ID: 1, Text: "yes"})
		replied <- err
	}()
	got := w.next(`{"wait_sec":60,"types":["interaction.reply.accepted"]}`)
	require.NoError(t, <-replied)
	require.Len(t, got.Events, 1, "immediately, and only the filter's events")
	require.Equal(t, lifecycle.TypeReplyAccepted, got.Events[0].Type)
	require.Empty(t, w.next(`{"wait_sec":1,"ack":"`+got.Ack+`","types":["interaction.reply.accepted"]}`).Events)
}

// K8, L3: a shutdown answers requests that wait for a feed.
func TestL3AWaitForAFeedEndsWithTheServer(t *testing.T) {
	var frontEnd *web.Server
	w := open(t, lifecycle.Config{}, web.Options{Identify: identify}, func(h http.Handler) http.Handler {
		frontEnd, _ = h.(*web.Server)
		return h
	})
	go func() {
		w.untilRead()
		frontEnd.Close()
	}()
	began := time.Now()
	require.Empty(t, w.next(`{"wait_sec":60}`).Events)
	require.Less(t, time.Since(began), 30*time.Second)
	require.Equal(t, "SHUTTING_DOWN", w.send("POST", "/feeds/copy/next", "ada", `{}`).code(t))
}
