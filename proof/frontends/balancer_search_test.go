//go:build search

package frontends_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// L1, L3, L4: three nodes run behind a balancer of connections, and are killed. Each follower of a
// run continues from its cursor and sees each event once, in order; the stream of the inbox shows
// each question; each is settled once; and each run's notice about a question arrives with its id.
func TestL3FollowersGoOnBehindABalancerThoughNodesAreKilled(t *testing.T) {
	t.Parallel() // it waits for the leases of killed nodes most of the time
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(60+2*(*balancedKills)+*balanced)*time.Second)
	defer cancel()
	dsn := pgtest.DSN(t)
	s, err := cast.OpenStore(ctx, dsn)
	require.NoError(t, err)
	defer s.Close()
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	require.NoError(t, err)
	defer client.Close()
	_, err = client.CreateFeed(ctx, notify.FeedName(hookName), time.Hour)
	require.NoError(t, err)

	hooks := &receiver{arrived: make(map[string]int)}
	server := httptest.NewServer(hooks)
	defer server.Close()
	f, err := startFleet(node{Store: dsn, Hooks: server.URL}, 3)
	require.NoError(t, err)
	defer f.stop()
	b, err := listen(ctx, f)
	require.NoError(t, err)
	defer b.close()
	people, err := newWorld(client, func() string { return b.address })
	require.NoError(t, err)
	defer people.http.CloseIdleConnections()

	c := newCrowd(people)
	inbox, stopInbox := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { c.watchInbox(inbox) })
	var followers, killer errgroup.Group
	for i := range *balanced {
		id := fmt.Sprintf("run-%05d", i)
		followers.Go(func() error { return c.live(ctx, id) })
	}
	killer.Go(func() error {
		for range *balancedKills {
			cast.Pause(ctx, 100*time.Millisecond+rand.N(200*time.Millisecond))
			f.killOne()
		}
		return f.failure()
	})
	require.NoError(t, errors.Join(killer.Wait(), followers.Wait()))
	stopInbox()
	watching.Wait()
	require.Empty(t, c.wrong)

	events := 0
	for i := range *balanced {
		id := fmt.Sprintf("run-%05d", i)
		require.True(t, c.shown[id], "%s: the stream of the inbox shows its question", id)
		run, err := client.Get(ctx, id)
		require.NoError(t, err)
		events += int(run.Seq)
		for seq := uint64(1); seq <= run.Seq; seq++ {
			for key := fmt.Sprintf("%s/%d", id, seq); !hooks.has(key); cast.Pause(ctx, 10*time.Millisecond) {
				require.NoError(t, ctx.Err(), "notice %s has not arrived", key)
			}
		}
	}
	require.Empty(t, hooks.problems())
	t.Logf("%d runs with %d events, %d nodes killed, %d connections; followers connected %d times, the inbox %d times",
		*balanced, events, f.stop(), b.connections.Load(), c.connected.Load(), c.reloads.Load())
}
