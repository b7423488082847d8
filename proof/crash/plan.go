package crash

import (
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle"
)

// Scenario is a fixed piece of work.
type Scenario struct {
	Name string
	Doc  string
	Runs []Plan
	// Orphans lets a first host begin the work, which ends when each run is in its place. The points
	// are the second host's.
	Orphans bool
	// Upkeep counts the points without a run, and Renewals the renewals that name a run. In other
	// scenarios these points are not counted, since they depend on the machine's speed.
	Upkeep, Renewals bool
	// Feed lets the hosts read a feed of all runs (K8). The store has no other users.
	Feed bool
}

// Counts reports whether the point belongs to the scenario.
func (s *Scenario) Counts(p Point) bool {
	switch renewal := len(p.Name) > 5 && p.Name[:5] == "renew"; {
	case p.Upkeep:
		return s.Upkeep
	case renewal:
		return s.Renewals
	}
	return true
}

// Moment is a place in a run's life that people can observe.
type Moment string

// The moments.
const (
	Queued  Moment = "queued"
	Claimed Moment = "claimed"
	Spoke   Moment = "spoke" // the first turn has sent a message
	Asked   Moment = "asked" // the run has asked its first question
	Held    Moment = "held"  // the run needs a decision
	Ended   Moment = "ended"
)

// Plan is one run of a scenario: its spec, its agent, and what people do.
type Plan struct {
	Name   string
	Spec   lifecycle.Spec
	Sticky bool
	// Refused: in the second host, the engine refuses the session of the run.
	Refused bool
	// Unready: in the second host, the engine does not say its profile before the host leaves.
	Unready bool
	// Fork, unless nil, makes the run a fork of another run of the scenario, when that has ended.
	Fork *Fork
	Turn Turn
	// Later replaces Turn in the last host, if Turn waits for a host to end. It may be nil.
	Later Turn

	Place   Moment           // where the first host of a scenario with orphans leaves the run
	Replies map[int]string   // by interaction
	Voters  []string         // who approve the first question, one after the other
	Hands   bool             // the first question goes through the hands of several people
	Resume  lifecycle.Choice // an operator's decision when the run is held
	Cancel  Moment
	Lose    Moment // when its resident process dies
	Leave   Moment // when the host is shut down
	Renewed Moment // when people wait until a renewal has named a run
	Prune   bool   // the run is deleted after its end

	Ends End // the end without a crash, and with lost answers
	// Broken lists other ends to which a crash may lead, by spec and profile (section E).
	Broken []End
}

// Fork says where a run is forked: at the first question of the run of that name, with the reply.
type Fork struct{ Of, Reply string }

// End is how a run ends.
type End struct {
	State fsm.State
	Code  fsm.Code
}

// spec returns the run's spec in a case.
func (p *Plan) spec(id string) lifecycle.Spec {
	s := p.Spec
	s.ID = id
	if s.Prompt == "" {
		s.Prompt = "Do the job."
	}
	s.Engine = p.engine()
	if s.SessionTimeout == 0 {
		s.SessionTimeout = 24 * time.Hour
	}
	return s
}

// engine names the engine that the run needs.
func (p *Plan) engine() string {
	switch {
	case p.Sticky:
		return "sticky"
	case p.Refused:
		return "refusing"
	case p.Unready:
		return "unready"
	}
	return "resumable"
}

// fixed is a time in the far future of every clock, for runs that are held back. It is a constant
// because the spec must be the same in each host.
var fixed = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	succeeded   = End{fsm.StateSucceeded, ""}
	canceled    = End{fsm.StateCanceled, fsm.CodeRunCanceled}
	interrupted = End{fsm.StateFailed, fsm.CodeOrchestratorRestartInterrupted}
	processLost = End{fsm.StateFailed, fsm.CodeInteractionProcessLost}
	givenUp     = End{fsm.StateFailed, fsm.CodeEngineFailed}
	timedOut    = End{fsm.StateFailed, fsm.CodeInteractionWaitTimeout}
)
