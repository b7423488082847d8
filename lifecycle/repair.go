package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// repair has the agent give an output again that is not valid, in rounds of the same attempt, as
// often as the spec allows (B3, B5). The last round's outcome is the turn's.
func (t *turn) repair(ctx context.Context, e engine.Engine, in engine.Turn, profile fsm.Profile,
	o engine.Outcome) engine.Outcome {
	for round := 1; round <= t.spec.RepairRounds; round++ {
		ev, goesOn := t.repairable(profile, o)
		if !goesOn {
			return o
		}
		why := shortened(ev.invalid.Error())
		if t.askAgain(ctx, ev, fmt.Sprintf("round %d of %d: %s", round, t.spec.RepairRounds, why)) != nil ||
			ctx.Err() != nil {
			o.Process = engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
				Detail: "the turn was interrupted before its output was repaired"}
			return o
		}
		in.Repair, in.Answers, in.Handle = t.repairText(why), nil, o.Handle
		if s := t.session(); in.Handle == nil && s != nil {
			in.Handle = &engine.Handle{Engine: s.Engine, Version: s.Version, Data: s.Data}
		}
		next := t.runEngine(ctx, e, in)
		next.Diagnostics = slices.Concat(o.Diagnostics, next.Diagnostics)
		o = next // without a handle, where it has none: that of the round before is stored
	}
	return o
}

// repairText is what the engine is told: why its output is not valid, and where it is no plain code
// what to do.
func (t *turn) repairText(why string) string {
	how := t.spoken()
	if how.plain {
		return why
	}
	return interaction.RepairText(t.spec.Mode, how.nonce, why)
}

// session is the run's, as last stored.
func (t *turn) session() *store.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.run.Session
}

// repairable weighs what the round left, and reports whether the gate would fail the turn for its
// output and there is a session that can be told so.
func (t *turn) repairable(profile fsm.Profile, o engine.Outcome) (ev evidence, goesOn bool) {
	run, _ := t.stored()
	ev = weigh(t.spec, run, profile, t.spoken(), o)
	known := profile == fsm.ProfileStickyProcess || ev.facts&fsm.FactHandlePresent != 0
	return ev, fsm.Decide(ev.facts).Error == fsm.CodeOutputInvalid && known && ev.lost == nil
}

// askAgain stores that a round of repair begins: what the agent said until then, and the session
// that it goes on with.
func (t *turn) askAgain(ctx context.Context, ev evidence, why string) error {
	var events []telling
	if f := ev.final; f != nil {
		text, cut := bounded(f.text, maxMessage)
		data := make(map[string]any, 3)
		message(data, text, cut, f.ref)
		events = append(events, telling{contract.TypeMessageIntermediate, data})
	}
	events = append(events, told(engine.Diagnostic{Code: fsm.WarnOutputRepairRequested, Detail: shortened(why)}))
	return (*sink)(t).report(ctx, ev.session, events...)
}
