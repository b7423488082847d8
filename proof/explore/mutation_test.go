package explore_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/proof/explore"
)

// mutant is a contract with one change in its transitions or its waiting policy.
type mutant struct {
	name string
	l    *contract.Lifecycle
}

func mutants(t testing.TB) []mutant {
	t.Helper()
	var all []mutant
	base := contract.Load()
	raw, err := json.Marshal(base)
	require.NoError(t, err)
	add := func(name string, change func(l *contract.Lifecycle)) {
		l := new(contract.Lifecycle)
		require.NoError(t, json.Unmarshal(raw, l))
		change(l)
		all = append(all, mutant{name, l})
	}
	for i, tr := range base.Transitions {
		if explore.Explained[tr.ID] != "" && tr.ID != "TR-18" { // the model has no such questions
			continue
		}
		at := func(change func(t *contract.Transition)) func(l *contract.Lifecycle) {
			return func(l *contract.Lifecycle) { change(&l.Transitions[i]) }
		}
		add(tr.ID+" dropped", func(l *contract.Lifecycle) { l.Transitions = slices.Delete(l.Transitions, i, i+1) })
		for _, s := range base.States {
			if s.Name != tr.To {
				add(tr.ID+" to "+s.Name, at(func(t *contract.Transition) { t.To = s.Name }))
			}
		}
		for _, slot := range []string{"acquire", "keep", "release"} {
			if slot != tr.Slot {
				add(tr.ID+" slot "+slot, at(func(t *contract.Transition) { t.Slot = slot }))
			}
		}
		for j, fact := range tr.All {
			add(tr.ID+" without "+fact, at(func(t *contract.Transition) { t.All = slices.Delete(t.All, j, j+1) }))
			add(tr.ID+" against "+fact, at(func(t *contract.Transition) {
				t.All = slices.Delete(t.All, j, j+1)
				t.None = append(t.None, fact)
			}))
		}
		for j, fact := range tr.None {
			add(tr.ID+" in spite of "+fact, at(func(t *contract.Transition) { t.None = slices.Delete(t.None, j, j+1) }))
			add(tr.ID+" only with "+fact, at(func(t *contract.Transition) {
				t.None = slices.Delete(t.None, j, j+1)
				t.All = append(t.All, fact)
			}))
		}
	}
	for i, w := range base.Waiting {
		for _, action := range []string{"keep_waiting", "auto_decide", "fail"} {
			if action != w.OnDeadline {
				add(w.ID+" does "+action, func(l *contract.Lifecycle) { l.Waiting[i].OnDeadline = action })
			}
		}
	}
	return all
}

// survivors are the mutants that behave like the contract in every reachable state, each with the
// reason. The contract's own laws catch them.
var survivors = map[string]string{
	"TR-01 in spite of held": "stores do not let a held run be claimed, whatever the arrow says",
	"TR-01 in spite of budget_spent": "a run is held for its budget in the commit that would let it start, and TR-01 " +
		"refuses held runs already",
	"TR-01 slot keep": "the claim gives the slot, whatever the arrow says of it",
	"TR-14 without handle_present": "a resumable run parks with its handle only (TR-02), so there is none without " +
		"that waits",
	"TR-18 dropped": "nothing in the library uses it; see Explained",
}

// G1: the explorer notices each change of a transition, a guard or the policy: the contract is
// unsound, a state breaks a promise or is stuck, or a rule is never reached.
func TestExploreCatchesChangedContracts(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	own, err := explore.All(explore.Options{Bounds: small})
	require.NoError(t, err)
	require.Nil(t, own.Broken)
	unmet := own.Coverage.Missing(contract.Load())
	by := map[string]int{}
	var alive []string
	explained := 0 // survivors among the mutants that are tried
	all := mutants(t)
	for i, m := range all {
		if i%eachMutant != 0 {
			continue
		}
		if survivors[m.name] != "" {
			explained++
		}
		how := caught(t, m.l, unmet)
		by[how]++
		if how == "" {
			alive = append(alive, m.name)
		}
	}
	t.Logf("%d mutants; by soundness %d, by promises %d, by rules that were never reached %d; survivors %q",
		len(all), by["soundness"], by["promise"], by["coverage"], alive)
	for _, name := range alive {
		require.Contains(t, survivors, name)
	}
	require.Len(t, alive, explained, "what is explained as a survivor is caught")
}

// small bounds are enough to reach nearly every rule.
var small = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 2, Faults: 1}

func caught(t testing.TB, l *contract.Lifecycle, unmet []string) string {
	t.Helper()
	if l.Check() != nil {
		return "soundness"
	}
	sum, err := explore.All(explore.Options{Contract: l, Bounds: small, First: true})
	require.NoError(t, err)
	if sum.Broken != nil {
		return "promise"
	}
	missing := slices.DeleteFunc(sum.Coverage.Missing(l), func(s string) bool { return slices.Contains(unmet, s) })
	if len(missing) > 0 {
		return "coverage"
	}
	return ""
}
