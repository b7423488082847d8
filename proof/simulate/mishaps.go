package simulate

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// mishap is the misbehaviour of an agent's callback instead of its work, or before it (J10).
type mishap struct {
	kind mishapKind
	late time.Duration // for comesLate: how long it takes, whatever its context says
}

type mishapKind int

const (
	noMishap mishapKind = iota
	panics
	exits // its goroutine ends
	comesLate
)

// mishaps are the mishaps of one run: in one turn, and in the calls of recovery and shutdown about
// it.
type mishaps struct {
	inTurn           int // by the number of rounds that the agent has heard
	turn             mishap
	check, reap, end mishap
}

// planMishaps decides which callbacks misbehave. Like planHolds, it has a separate generator.
func (p *plan) planMishaps() {
	if p.calm {
		return
	}
	r := rand.New(rand.NewPCG(uint64(p.lease), uint64(p.peace)<<20|uint64(p.poll)))
	draw := func() (m mishap) {
		if r.IntN(6) == 0 {
			m = mishap{mishapKind(1 + r.IntN(int(comesLate))), millis(r, 500, 45_000)}
		}
		return m
	}
	p.holds.outageBy = draw()
	for _, run := range p.runs {
		m := &run.mishaps
		m.inTurn, m.turn = r.IntN(len(run.turns)), draw()
		m.check, m.reap, m.end = draw(), draw(), draw()
	}
	p.onLoss = draw()
}

// suffer lets the mishap happen in a callback. It returns if the callback then does its work.
func (a *agent) suffer(m mishap, callback string) {
	if m.kind != noMishap {
		a.view.world.saw(fmt.Sprintf("a callback misbehaved: %s %s", callback, [...]string{"", "panics", "exits",
			"comes late"}[m.kind]))
	}
	switch m.kind {
	case panics:
		panic(callback + " fails in a way of its own")
	case exits:
		runtime.Goexit()
	case comesLate:
		a.view.rest(a.view.world.ending, m.late)
	case noMishap:
	}
}
