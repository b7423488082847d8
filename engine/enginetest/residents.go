package enginetest

import (
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// residents: an agent whose process lives through all turns of its run.
var residents = []scene{
	{name: "D3, D4: one process executes all turns, until it is ended", real: true, applies: both(isResident, isSeen),
		play: func(w *world) {
			r, e := w.newRun("r1"), w.resident()
			r.do(r.naming("first", "ask What next?")...)
			first := r.named("first")
			r.do(r.naming("second", "ask And then?")...)
			require.Equal(w, first, r.named("second"))
			lost := w.losses()
			require.NoError(w, e.End(w.ctx, r.turn.RunID))
			r.goneAre(first)
			require.NoError(w, e.End(w.ctx, r.turn.RunID), "ending what has ended does nothing")
			require.Empty(w, lost(), "an end that was asked for is no loss")
		}},
	{name: "D4: an automatic decision reaches the process the way a reply does", real: true, applies: both(isResident,
		isSeen), play: func(w *world) {
		r := w.newRun("r1")
		r.do(r.naming("first", "ask What next?")...)
		first := r.named("first")
		q, _ := interaction.Normalize(interaction.Question{ID: 1, Prompt: "What next?"})
		auto := interaction.NewAutoDecision(q)
		turn := r.next("")
		turn.Answers = []interaction.Answer{auto.Answer(q.AskedAt)}
		turn.Answers[0].Text += "\n" + Script(r.naming("second", "note decided", "recall")...)
		o, err := w.engine.RunTurn(w.ctx, turn, &r.Recorder)
		require.NoError(w, err)
		if heard := w.questions(); len(heard) > 0 {
			require.Contains(w, heard[len(heard)-1].LastUser, auto.Instruction)
		} else {
			require.Contains(w, o.FinalText, auto.Instruction)
		}
		require.Equal(w, first, r.named("second"))
	}},
	{name: "J11: two hosts that share the engine have separate processes for runs of one id",
		applies: both(isResident, isSeen), play: func(w *world) {
			e, ok := w.engine.(engine.Scoped)
			require.True(w, ok, "an engine that keeps processes between turns can keep them for one host: see "+
				"engine.Scoped")
			type overriding struct{ engine.Engine }
			own := &overriding{w.engine}
			require.Same(w, own, e.Scope(own), "a host's type that embeds the engine keeps what it overrides")
			type host struct {
				*run
				engine engine.Engine
				lost   []string
				pid    int
			}
			var hosts []*host
			var mu sync.Mutex // guards lost
			for _, name := range []string{"r1", "r2"} {
				h := &host{run: w.newRun(name), engine: e.Scope(w.engine)}
				if len(hosts) > 0 {
					h.turn.RunID = hosts[0].turn.RunID
				}
				defer h.engine.(engine.Resident).OnLoss(func(id string, _ error) {
					mu.Lock()
					defer mu.Unlock()
					h.lost = append(h.lost, id)
				})()
				_, err := h.executeOn(w.ctx, h.engine, Script(h.naming("self", "ask What next?")...))
				require.NoError(w, err)
				h.pid = h.named("self")
				hosts = append(hosts, h)
			}
			require.NotEqual(w, hosts[0].pid, hosts[1].pid)
			require.NoError(w, w.resident().End(w.ctx, hosts[0].turn.RunID))
			_, err := hosts[1].executeOn(w.ctx, hosts[1].engine, Script(hosts[1].naming("again", "ask And then?")...))
			require.NoError(w, err)
			require.Equal(w, hosts[1].pid, hosts[1].named("again"))
			hosts[0].kill(hosts[0].pid)
			require.Eventually(w, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(hosts[0].lost) > 0
			}, w.Patience, pause)
			require.NoError(w, hosts[1].engine.(engine.Resident).End(w.ctx, hosts[1].turn.RunID))
			hosts[1].goneAre(hosts[1].pid)
			require.Empty(w, hosts[1].lost)
		}},
	{name: "D6: a process that dies while its run waits is reported, once", real: true, applies: both(isResident,
		isSeen), play: func(w *world) {
		r := w.newRun("r1")
		lost := w.losses()
		r.do(r.naming("self", "ask What next?")...)
		r.kill(r.named("self"))
		require.Eventually(w, func() bool { return len(lost()) > 0 }, w.Patience, pause)
		o, err := r.execute(w.ctx, Script("final I should not speak"))
		require.Equal(w, fsm.CodeInteractionProcessLost, failure(w, o, err))
		require.NoError(w, w.resident().End(w.ctx, r.turn.RunID))
		require.Equal(w, []string{r.turn.RunID}, lost())
	}},
	{name: "D6: an answer finds the process missing, also without a watcher", real: true, applies: both(isResident,
		isSeen), play: func(w *world) {
		r := w.newRun("r1")
		r.do(r.naming("self", "ask What next?")...)
		self := r.named("self")
		r.kill(self)
		r.goneAre(self)
		o, err := r.execute(w.ctx, Script("final I should not speak"))
		require.Equal(w, fsm.CodeInteractionProcessLost, failure(w, o, err))
	}},
	{name: "E3: a host that never had the process says that it is lost", real: true, applies: isResident,
		play: func(w *world) {
			r := w.newRun("r1")
			r.turn.Attempt, r.turn.Prompt = 1, "as another host was told"
			o, err := r.execute(w.ctx, Script("final I should not speak"))
			require.Equal(w, fsm.CodeInteractionProcessLost, failure(w, o, err))
		}},
	{name: "I6: a canceled turn ends its process, and that is not a loss", real: true, applies: both(isResident,
		isSeen), play: func(w *world) {
		r := w.newRun("r1")
		lost := w.losses()
		r.do(r.naming("self", "ask What next?")...)
		self := r.named("self")
		g := r.startUntil("begun", "touch begun", "hang")
		g.cancel(engine.ErrCanceled)
		require.NotEqual(w, engine.OK, g.finish().Process.Status)
		r.goneAre(self)
		require.Empty(w, lost())
	}},
	{name: "output of a process between its turns does not belong to the next one",
		applies: both(isResident, isProgram),
		play: func(w *world) {
			r := w.newRun("r1")
			r.do("final one", "late said") // after the turn's end: a late final text and a second end
			r.await("said")
			o := r.do("final two")
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(w, "two", o.FinalText)
		}},
	{name: "a function that was removed is not called", applies: isResident, play: func(w *world) {
		r := w.newRun("r1")
		told := make(chan string, 1)
		stop := w.resident().OnLoss(func(id string, _ error) { told <- id })
		stop()
		lost := w.losses()
		r.do("pid self", "ask What next?")
		r.kill(r.pid("self"))
		require.Eventually(w, func() bool { return len(lost()) > 0 }, w.Patience, pause)
		require.Empty(w, told)
	}},
}

func (w *world) resident() engine.Resident {
	w.Helper()
	e, ok := w.engine.(engine.Resident)
	require.True(w, ok, "an engine with the profile sticky_process is an engine.Resident")
	return e
}

// losses records lost processes; the returned function lists their runs.
func (w *world) losses() func() []string {
	w.Helper()
	var mu sync.Mutex
	var runs []string
	w.Cleanup(w.resident().OnLoss(func(id string, _ error) {
		mu.Lock()
		defer mu.Unlock()
		runs = append(runs, id)
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), runs...)
	}
}
