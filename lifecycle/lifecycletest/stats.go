package lifecycletest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// figures waits for quiescence and counts what has not ended.
func (w *world) figures() lifecycle.Stats {
	w.Helper()
	w.advance(0)
	s, err := w.Stats(w.ctx)
	require.NoError(w, err)
	return s
}

var stats = []story{
	{"I10 D1/the figures tell where each run stands, on a host that serves", inWorld(func(w *world) {
		pool := func(held, ready int, oldest time.Time) []store.PoolSurvey {
			use := store.PoolUse{Pool: slots.Pool{Name: slots.DefaultPool, Capacity: 1}, Held: held}
			return []store.PoolSurvey{{PoolUse: use, Ready: ready, OldestReady: oldest}}
		}
		require.Equal(w, lifecycle.Stats{Nodes: 1, Pools: pool(0, 0, time.Time{})}, w.figures())

		release := make(chan struct{})
		w.agent.Plan("asks", Wonders("Go on?"), Done("ok"))
		w.agent.Plan("busy", Until(release, Done("ok")))
		w.agent.Plan("", Done("ok"))
		w.submit("asks")
		asked := w.is("asks", fsm.StateWaitingUser).Pending.AskedAt
		w.advance(time.Minute)
		w.submit("busy")
		first := w.submit("first")
		w.advance(time.Second)
		w.submit("second")
		at := time.Now().Add(time.Hour)
		w.submit("later", func(s *lifecycle.Spec) { s.NotBefore = at })
		want := lifecycle.Stats{
			Queued: 3, Running: 1, Waiting: 1, Delayed: 1, Ready: 2, OldestReady: first.QueuedAt, OldestWaiting: asked,
			Nodes: 1,
			Pools: pool(1, 2, first.QueuedAt), Engines: []store.EngineSurvey{{Engine: lifecycle.DefaultEngine,
				Queued: 3, OldestReady: first.QueuedAt, Nodes: 1}},
		}
		require.Equal(w, want, w.figures())

		w.advance(time.Until(at))
		want.Delayed, want.Ready, want.Pools[0].Ready = 0, 3, 3
		require.Equal(w, want, w.figures(), "its time has come")

		w.reply("asks", 1, "yes")
		want.Queued, want.Waiting, want.OldestWaiting, want.Ready, want.Pools[0].Ready = 4, 0, time.Time{}, 4, 4
		want.Engines[0].Queued = 4
		require.Equal(w, want, w.figures(), "what is answered wants a slot again")

		close(release)
		require.Equal(w, lifecycle.Stats{Nodes: 1, Pools: pool(0, 0, time.Time{})}, w.figures(),
			"what has ended counts nowhere")
	}, capacity(1))},
	{"D2 D3/a question is due until somebody serves, a sticky one holds its slot until then", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.submit("r", within(time.Minute))
		w.is("r", fsm.StateWaitingUser)
		s := w.figures()
		require.Equal(w, []int{1, 0, 1}, []int{s.Waiting, s.Due, s.Pools[0].Held})
		w.advance(time.Minute)
		s = w.figures()
		require.Equal(w, []int{0, 0, 0}, []int{s.Waiting, s.Due, s.Pools[0].Held}, "the host fires it at once")
		w.failedWith("r", fsm.CodeInteractionWaitTimeout)
	}, sticky)},
	{"D2/what falls due while nobody serves is counted", inWorld(func(w *world) {
		w.agent.Plan("r", Wonders("Go on?"), Done("ok"))
		w.submit("r", lenient(time.Minute))
		w.is("r", fsm.StateWaitingUser)
		w.stop()
		require.Zero(w, w.figures().Nodes)
		require.Zero(w, w.figures().Due)
		w.advance(time.Minute)
		require.Equal(w, 1, w.figures().Due)
		w.start()
		w.advance(5 * time.Second)
		s := w.figures()
		require.Equal(w, []int{0, 1}, []int{s.Due, s.Nodes})
		w.is("r", fsm.StateSucceeded)
	})},
}
