package contract

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/sample"
)

// toFSM turns facts by name into the machine's set.
func toFSM(t testing.TB, facts Facts) fsm.Facts {
	t.Helper()
	var out fsm.Facts
	for name, holds := range facts {
		bit, ok := fsm.FactNamed(name)
		require.True(t, ok, name)
		if holds {
			out |= bit
		}
	}
	return out
}

func factNames(set fsm.Facts) []string {
	var out []string
	for _, n := range embedded().Facts {
		if bit, ok := fsm.FactNamed(n.Name); ok && set.Has(bit) {
			out = append(out, n.Name)
		}
	}
	return out
}

// machine asks the generated machine, and answers in the contract's words.
func machine(t testing.TB, state, event string, facts fsm.Facts) Verdict {
	t.Helper()
	tr, err := fsm.Next(fsm.State(state), fsm.Event(event), facts)
	if err != nil {
		var r *fsm.Refusal
		require.ErrorAs(t, err, &r)
		return Verdict{Code: string(r.Code), Rule: r.Rule}
	}
	back := fromFSM(tr)
	return Verdict{Transition: &back, Rule: tr.ID}
}

func fromFSM(tr fsm.Transition) Transition {
	out := Transition{
		ID: tr.ID, From: string(tr.From), Event: string(tr.Event), To: string(tr.To),
		Guard: Guard{All: factNames(tr.All), None: factNames(tr.None)}, Slot: string(tr.Slot), Error: string(tr.Error),
	}
	for _, c := range tr.Also {
		out.Also = append(out.Also, string(c))
	}
	for _, e := range tr.Emits {
		out.Emits = append(out.Emits, Emission{Type: e.Type, Count: string(e.Count)})
	}
	return out
}

// bare is the transition without what only people read, its guard in the order of the facts.
func bare(l *Lifecycle, t Transition) Transition {
	t.Doc, t.Requirements = "", nil
	order := func(list []string) []string {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b string) int {
			return slices.Index(Names(l.Facts), a) - slices.Index(Names(l.Facts), b)
		})
		return list
	}
	t.All, t.None = order(t.All), order(t.None)
	if len(t.Emits) == 0 {
		t.Emits = nil
	}
	return t
}

// G2: contract and machine have the same transitions, in both directions, with everything that they
// carry.
func TestMachineHasTheTransitionsOfTheContract(t *testing.T) {
	t.Parallel()
	l := embedded()
	var want, got []Transition
	for _, tr := range l.Transitions {
		want = append(want, bare(l, tr))
	}
	for _, tr := range fsm.Transitions() {
		got = append(got, bare(l, fromFSM(tr)))
	}
	require.Equal(t, want, got)
	begin := fsm.Submit()
	require.Equal(t, l.Submission.To, string(begin.To))
	require.Equal(t, l.Submission.Slot, string(begin.Slot))
	require.Equal(t, l.Submission.ID, begin.ID)
	require.Len(t, begin.Emits, len(l.Submission.Emits))
	require.Equal(t, fsm.ContractVersion, l.Version)
	require.Equal(t, fsm.Protocol, l.Protocol)
	for _, s := range l.States {
		require.Equal(t, s.Terminal, fsm.State(s.Name).Terminal())
	}
	for _, c := range l.Errors {
		require.Equal(t, c.Source, fsm.Code(c.Code).Source())
	}
}

// G2: the machine that runs, not only its table, agrees with the contract in every cell, for every
// assignment of the facts that either of them mentions there, with all other facts or none.
func TestMachineAgreesInEveryCell(t *testing.T) {
	t.Parallel()
	l := embedded()
	var every []string
	every = append(every, Names(l.Facts)...)
	all := toFSM(t, allTrue(every))
	cells, probes := 0, 0
	for _, s := range append(l.StateNames(), "limbo") {
		for _, e := range append(Names(l.Events), "turn.exploded") {
			cells++
			mentioned := l.mentioned(s, e)
			Assignments(mentioned, func(facts Facts) bool {
				probes++
				set := toFSM(t, facts)
				agree(t, l, s, e, set)
				agree(t, l, s, e, set|all&^toFSM(t, allTrue(mentioned)))
				return true
			})
		}
	}
	require.Equal(t, (6+1)*(21+1), cells)
	require.Greater(t, probes, 150)
}

func allTrue(list []string) Facts {
	out := Facts{}
	for _, name := range list {
		out[name] = true
	}
	return out
}

// mentioned lists the facts that contract or machine mention in a cell.
func (l *Lifecycle) mentioned(state, event string) []string {
	var guards []Guard
	for _, tr := range l.Transitions {
		if tr.From == state && tr.Event == event {
			guards = append(guards, tr.Guard)
		}
	}
	for _, tr := range fsm.Transitions() {
		if string(tr.From) == state && string(tr.Event) == event {
			guards = append(guards, Guard{All: factNames(tr.All), None: factNames(tr.None)})
		}
	}
	return Mentioned(guards...)
}

// agree compares the two answers, and returns the state that the run is in then.
func agree(t testing.TB, l *Lifecycle, state, event string, set fsm.Facts) string {
	t.Helper()
	want, got := l.Next(state, event, allTrue(factNames(set))), machine(t, state, event, set)
	require.Equal(t, want.Code, got.Code, "%s × %s with %s", state, event, set)
	require.Equal(t, want.Rule, got.Rule, "%s × %s with %s", state, event, set)
	if want.Transition == nil {
		require.Nil(t, got.Transition)
		return state
	}
	require.Equal(t, bare(l, *want.Transition), bare(l, *got.Transition))
	return want.Transition.To
}

// G3: every event sequence up to length 6, with every choice of facts at each step, leads model and
// machine through the same states. Both answers depend only on state, event and facts (for the
// machine: TestNextIsSafeForConcurrentUse in fsm), so each step is computed once and looked up in
// the 3 million sequences.
func TestMachineAgreesOnEverySequenceUpToSix(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	const length = 6
	l := embedded()
	states, events := l.StateNames(), Names(l.Events)
	reached := make([][]uint8, len(states)) // by state and event: the set of states that some facts lead to
	for s, state := range states {
		reached[s] = make([]uint8, len(events))
		for e, event := range events {
			Assignments(l.mentioned(state, event), func(facts Facts) bool {
				reached[s][e] |= 1 << slices.Index(states, agree(t, l, state, event, toFSM(t, facts)))
				return true
			})
		}
	}
	sequences := 0
	terminal := uint8(0)
	for s, state := range l.States {
		if state.Terminal {
			terminal |= 1 << s
		}
	}
	var walk func(in uint8, depth int)
	walk = func(in uint8, depth int) {
		sequences++
		if depth == length {
			return
		}
		for e := range events {
			out := uint8(0)
			for s := range states {
				if in&(1<<s) != 0 {
					out |= reached[s][e]
				}
			}
			if lost := in & terminal &^ out; lost != 0 { // A1
				t.Fatalf("a terminal state was left by %s", events[e])
			}
			walk(out, depth+1)
		}
	}
	walk(1<<slices.Index(states, l.Submission.To), 0)
	require.Equal(t, 1+21+441+9261+194_481+4_084_101+85_766_121, sequences)
}

// G3: random longer sequences with any facts.
func TestMachineAgreesOnRandomSequencesUpToSixty(t *testing.T) {
	t.Parallel()
	l := embedded()
	rapid.Check(t, func(rt *rapid.T) {
		state := l.Submission.To
		for range rapid.IntRange(0, 60).Draw(rt, "length") {
			event := rapid.SampledFrom(Names(l.Events)).Draw(rt, "event")
			set := fsm.Facts(rapid.Uint32Range(0, 1<<len(l.Facts)-1).Draw(rt, "facts"))
			state = agree(t, l, state, event, set)
		}
	})
}

// G3: random walks that prefer possible events, so that long lives occur too: each ends in a
// terminal state or continues.
func TestMachineAgreesOnRandomLivesUpToSixty(t *testing.T) {
	t.Parallel()
	l := embedded()
	rapid.Check(t, func(rt *rapid.T) {
		state := l.Submission.To
		for range 60 {
			var open []Transition
			for _, tr := range l.Transitions {
				if tr.From == state {
					open = append(open, tr)
				}
			}
			if len(open) == 0 {
				return
			}
			tr := rapid.SampledFrom(open).Draw(rt, "transition")
			noise := fsm.Facts(rapid.Uint32Range(0, 1<<len(l.Facts)-1).Draw(rt, "facts"))
			set := noise | toFSM(t, allTrue(tr.All))
			set &^= toFSM(t, allTrue(tr.None))
			next := agree(t, l, state, tr.Event, set)
			require.Equal(t, tr.To, next)
			state = next
		}
	})
}

// G2, B1–B11: the generated gate agrees with the contract's for every assignment of all facts that
// it mentions, and for no other fact does it matter.
func TestGateAgreesOnAllFacts(t *testing.T) {
	t.Parallel()
	l := embedded()
	var guards []Guard
	for _, r := range l.Gate {
		guards = append(guards, r.Guard)
	}
	mentioned := Mentioned(guards...)
	rest := toFSM(t, allTrue(Names(l.Facts))) &^ toFSM(t, allTrue(mentioned))
	Assignments(mentioned, func(facts Facts) bool {
		want, ok := l.Decide(facts)
		require.True(t, ok)
		set := toFSM(t, facts)
		for _, got := range []fsm.GateRule{fsm.Decide(set), fsm.Decide(set | rest)} {
			require.Equal(t, want.ID, got.ID)
			require.Equal(t, want.Outcome, string(got.Outcome))
			require.Equal(t, want.Error, string(got.Error))
			var warnings []string
			for _, w := range got.Warnings {
				warnings = append(warnings, string(w))
			}
			require.Equal(t, want.Warnings, warnings)
			require.Equal(t, toFSM(t, allTrue(want.All)), got.All)
			require.Equal(t, toFSM(t, allTrue(want.None)), got.None)
		}
		return true
	})
}

// G2, D1–D4: the generated policy agrees with the contract's for every profile and strictness.
func TestWaitAgreesWithTheContractForEveryProfile(t *testing.T) {
	t.Parallel()
	l := embedded()
	for _, profile := range append(Names(l.Profiles), "telepathic") {
		for _, strict := range []bool{false, true} {
			want, known := l.Wait(profile, strict)
			got, ok := fsm.Wait(fsm.Profile(profile), strict)
			require.Equal(t, known, ok)
			require.Equal(t, want.ID, got.ID)
			require.Equal(t, want.Slot, string(got.Slot))
			require.Equal(t, want.OnDeadline, string(got.OnDeadline))
			if known {
				require.Equal(t, want.Strict, got.Strict)
				require.Equal(t, want.Profile, string(got.Profile))
			}
		}
	}
}

// A7: the machine's refusals are errors that callers can take apart.
func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	_, err := fsm.Next(fsm.StateQueued, fsm.EventInteractionReplyAccepted, 0)
	var r *fsm.Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, fsm.StateQueued, r.State)
	require.Equal(t, fsm.EventInteractionReplyAccepted, r.Event)
}
