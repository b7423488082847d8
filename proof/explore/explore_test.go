package explore_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/proof/explore"
)

// exploreScenarios explores the scenarios in parallel, and adds up the results.
func exploreScenarios(t *testing.T, o explore.Options, which func(explore.Scenario) bool) explore.Result {
	t.Helper()
	o.Contract = contract.Load()
	var mu sync.Mutex
	var sum explore.Result
	t.Run("scenarios", func(t *testing.T) {
		for _, sc := range explore.Scenarios() {
			if !which(sc) {
				continue
			}
			t.Run(sc.String(), func(t *testing.T) {
				t.Parallel()
				r, err := explore.Explore(o, sc)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				sum.Add(r)
			})
		}
	})
	return sum
}

// A7 C5 C8 D5 E4 E6 I1 I2 I7 I8 K1 K5 K7: with two nodes, two people and one fault, every reachable
// state keeps every promise of the contract and of the protocol, and an end can be reached from it
// without a person. The exploration reaches each rule and each result of the protocol.
func TestExploreEveryReachableStateKeepsEveryPromise(t *testing.T) {
	sample.Sequential(t)
	r := exploreScenarios(t, explore.Options{Bounds: explored}, func(explore.Scenario) bool { return true })
	t.Log(r)
	require.Nil(t, r.Broken)
	require.Empty(t, r.Coverage.Missing(contract.Load()))
	require.Greater(t, r.States, least)
}

// Two faults of any kinds in one run. Only some scenarios are explored here; the modelcheck command
// explores all of them.
func TestExploreWithTwoFaultsKeepsEveryPromise(t *testing.T) {
	r := exploreScenarios(t, explore.Options{Bounds: twice}, func(sc explore.Scenario) bool {
		return sc.Repeatable && !sc.NoRepeatLeft && sc.MaxAttempt == 0 && sc.MaxAuto == 1
	})
	t.Log(r)
	require.Nil(t, r.Broken)
}

// The runs of the counter-examples below.
var (
	plain  = explore.Scenario{}
	repeat = explore.Scenario{Repeatable: true}
	asks   = explore.Scenario{Interactive: true}
	held   = explore.Scenario{Interactive: true, Sticky: true}
	voted  = explore.Scenario{Interactive: true, Votes: true}
	taken  = explore.Scenario{Interactive: true, Claims: true, Then: "take_default"}
)

// guards lists for each switch the promise that breaks without the guard, and after how many steps.
var guards = []struct {
	off    explore.Switch
	of     explore.Scenario
	broken string
	steps  int
}{
	{explore.VersionReply, asks, "PI-18", 6},
	{explore.VersionCancel, plain, "IV-10", 3},
	{explore.VersionDeadline, asks, "PI-18", 7},
	{explore.VersionRecovery, plain, "PI-16", 7},
	{explore.VersionResume, asks, "PI-18", 10},
	{explore.VersionChange, taken, "IV-47", 6},
	{explore.VersionLoss, held, "PI-18", 7},
	{explore.VersionFinish, asks, "IV-29", 5},
	{explore.VersionCreate, plain, "IV-02", 1},
	{explore.FenceRegistered, plain, "PI-11", 4},
	{explore.ClaimState, plain, "PI-14", 2},
	{explore.ClaimHeld, plain, "IV-17", 3},
	{explore.ClaimRegistered, plain, "PI-11", 3},
	{explore.ClaimCapacity, plain, "PI-08", 2},
	{explore.ClaimHolder, held, "PI-20", 5},
	{explore.ClaimEpoch, repeat, "PI-10", 3},
	{explore.CommitEvents, plain, "PI-09", 1},
	{explore.CommitSlot, plain, "PI-01", 2},
	{explore.CommitReceipt, asks, "PI-06", 4},
	{explore.CommitDeadline, asks, "PI-05", 4},
	{explore.CommitAnswer, asks, "PI-07", 4},
	{explore.ReplyPending, asks, "IV-25", 4},
	{explore.ReplyKey, asks, "PI-15", 5},
	{explore.ReplyClaim, taken, "IV-47", 6},
	{explore.ReplyVoted, voted, "IV-46", 6},
	{explore.ReplyAsked, taken, "PI-29", 6},
	{explore.DeadlinePassed, asks, "IV-34", 4},
	{explore.LeaseEnded, plain, "PI-13", 1},
	{explore.RecoverOrphans, plain, "PI-12", 3},
	{explore.RestartID, plain, "PI-10", 4},
	{explore.OutcomeChecked, plain, "PI-10", 4},
	{explore.DroppedSettled, plain, "PI-10", 5},
	{explore.ClaimPending, plain, "PI-10", 3},
	{explore.RecoverRunning, plain, "PI-17", 2},
	{explore.RecoverAnswered, held, "PI-17", 5},
}

// Without any of the guards there is a counter-example, so each guard is needed.
func TestExploreWithoutAGuardBreaksAPromise(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	tried := map[explore.Switch]bool{explore.FenceNode: true, explore.FenceEpoch: true} // see below
	for _, g := range guards {
		tried[g.off] = true
		r, err := explore.Explore(explore.Options{Bounds: explore.Usual(), Without: []explore.Switch{g.off}}, g.of)
		require.NoError(t, err)
		require.NotNil(t, r.Broken, "%s is not needed", g.off)
		t.Logf("without %s, %d steps: %s", g.off, len(r.Broken.Steps), r.Broken)
		require.Equal(t, g.broken, r.Broken.Broken[:len("PI-00")], "%s: %s", g.off, r.Broken)
		require.Len(t, r.Broken.Steps, g.steps, g.off)
	}
	for _, s := range explore.Switches() {
		require.True(t, tried[s], "%s was not tried", s)
	}
}

// The fence's checks of node and epoch are a second line of defence: the comparison of versions
// already refuses a worker that has lost its run. Without that comparison, each of the two checks
// still prevents its writes.
func TestExploreFenceOfNodeAndEpochIsASecondLine(t *testing.T) {
	t.Parallel()
	for _, line := range []struct {
		off    explore.Switch
		of     explore.Scenario
		broken string
		steps  int
	}{{explore.FenceNode, plain, "PI-21", 4}, {explore.FenceEpoch, asks, "PI-22", 8}} {
		exploreWithout := func(without ...explore.Switch) explore.Result {
			t.Helper()
			r, err := explore.Explore(explore.Options{
				Bounds: explore.Bounds{Nodes: 2, Questions: 1, Attempts: 2, Faults: 1}, Without: without,
				Only: line.broken,
			}, line.of)
			require.NoError(t, err)
			return r
		}
		require.Nil(t, exploreWithout(line.off).Broken, line.off)
		require.Nil(t, exploreWithout(explore.VersionFinish).Broken, line.off)
		both := exploreWithout(explore.VersionFinish, line.off).Broken
		require.NotNil(t, both, line.off)
		t.Logf("without %s and %s, %d steps: %s", explore.VersionFinish, line.off, len(both.Steps), both)
		require.Len(t, both.Steps, line.steps, both)
	}
}
