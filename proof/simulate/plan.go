package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
)

// plan is decided by the seed before the world begins. Worlds also differ in their faults: one in
// eight is calm, without any fault, and its runs must end exactly as planned.
type plan struct {
	calm      bool
	rhythm    bool            // people and agents act on the beat, see rest
	skews     []time.Duration // how far the hosts' clocks are off
	pool      slots.Pool
	lease     time.Duration
	poll      time.Duration
	grace     time.Duration
	limit     int // how many turns a host executes at one time
	runs      []*runPlan
	rates     rates
	recovers  time.Duration // when an administrator starts a recovery; 0 for never
	peace     time.Duration // the time after which nothing goes wrong any more
	holds     holdPlan
	onLoss    mishap // of every host's subscription to lost processes
	feed      feedPlan
	rules     rulesPlan
	memory    memoryPlan
	directory *directory
}

// rates say how often something goes wrong, in a thousand cases.
type rates struct {
	refuse  int // a call fails before its effect
	lose    int // a call has its effect and its acknowledgement is lost
	late    int // an acknowledgement is delayed
	advance int // time passes although something else could happen first
	drop    int // a hint is lost
	double  int // a hint comes twice
	shuffle int // hints come in another order
	fault   int // a host is paused, cut off, killed or stopped, or an agent's process dies
	order   int // the later of two requests goes first
}

// runPlan is the plan of one run: its specification, what its agent does, and what people do.
type runPlan struct {
	spec      lifecycle.Spec
	sticky    bool
	turns     []turnPlan // by the number of rounds of questions whose answers the agent has heard
	submitAt  time.Duration
	repliers  []*replierPlan
	extenders []extenderPlan
	assigners []assignerPlan
	cancelAt  time.Duration // 0 if it is not canceled
	followers []followerPlan
	waits     bool          // a person waits for its end
	expires   time.Duration // when its sessions expire; 0 for never
	repaired  time.Duration // when they are accepted again; 0 for never
	clings    bool          // the process that a dead worker left cannot be ended
	reports   bool          // its agent reports usage
	mishaps   mishaps
	forgetter *forgetterPlan
	fork      *forkPlan // nil: not forked
	origin    *origin   // of a fork
}

// turnPlan is an agent's behaviour in one turn.
type turnPlan struct {
	messages int
	handle   bool          // reports its session before the turn ends
	takes    time.Duration // how long the agent thinks
	deaf     bool          // ignores its cancellation
	fails    bool          // ends with a failed process
	busy     int           // how often its model is overloaded before it executes
	asks     bool          // asks a question; otherwise the agent is done
	policy   interaction.DecisionPolicy
	several  severalPlan
	waits    []*interaction.Wait // of its questions; nil: without waits
}

// replierPlan is a person who answers questions.
type replierPlan struct {
	name     string
	seed     uint64
	thinks   time.Duration // the longest time before a reply
	keyed    bool
	patience int  // how often they read the run before they give up
	clumsy   bool // also answers questions that are settled or were never asked
	groups   []string
	claims   claimPlan
}

// followerPlan is a person who reads a run's events.
type followerPlan struct {
	name   string
	breaks int // after how many events they connect again; 0 for never
}

func chance(r *rand.Rand, ofThousand int) bool { return r.IntN(1000) < ofThousand }

// seconds returns a random number of whole seconds.
func seconds(r *rand.Rand, least, most int) time.Duration {
	return time.Duration(least+r.IntN(most-least+1)) * time.Second
}

// millis returns a random number of milliseconds.
func millis(r *rand.Rand, least, most int) time.Duration {
	return time.Duration(least+r.IntN(most-least+1))*time.Millisecond + time.Duration(r.IntN(1000))*time.Microsecond
}

func newPlan(r *rand.Rand) *plan {
	p := &plan{
		calm: r.IntN(8) == 0, lease: seconds(r, 12, 30), poll: seconds(r, 4, 12), limit: 1 + r.IntN(4),
		pool: slots.Pool{Name: slots.DefaultPool, Capacity: 1 + r.IntN(3)}, peace: seconds(r, 30, 120),
	}
	if r.IntN(3) == 0 {
		p.pool.KeyCapacity = 1
	}
	p.grace = time.Duration(r.IntN(4)-1) * 2 * time.Second
	if p.grace == 0 {
		p.grace = time.Second
	}
	p.rhythm = r.IntN(3) == 0
	if r.IntN(4) == 0 {
		p.recovers = millis(r, 1000, 60_000)
	}
	for range 1 + r.IntN(3) {
		p.skews = append(p.skews, time.Duration(r.IntN(1_000_000)-500_000)*time.Microsecond)
	}
	if p.calm {
		p.rates = rates{order: r.IntN(1000)}
	} else {
		p.rates = newRates(r)
	}
	for i := range 1 + r.IntN(3) {
		run := newRun(r, fmt.Sprintf("r%d", i+1), p.calm)
		if p.rhythm {
			run.spec.SessionTimeout = run.spec.SessionTimeout.Truncate(beat) + beat
		}
		p.runs = append(p.runs, run)
	}
	p.planHolds()
	p.planMishaps()
	p.planSeveral()
	p.planRules()
	p.planMemory()
	p.planWaits()
	p.planVotes()
	p.planClaims()
	p.planHands()
	p.planUsage()
	p.planFeed()
	p.planForks()
	p.planDeputies()
	return p
}

// newRates sets about half of the rates to zero, so that a rare fault meets a frequent one in some
// worlds.
func newRates(r *rand.Rand) rates {
	some := func(most int) int {
		if r.IntN(2) == 0 {
			return 0
		}
		return 1 + r.IntN(most)
	}
	return rates{
		refuse: some(150), lose: some(150), late: some(300), advance: some(200),
		drop: some(1000), double: some(300), shuffle: some(500), fault: 4 + some(30), order: some(1000),
	}
}

func newRun(r *rand.Rand, id string, calm bool) *runPlan {
	run := &runPlan{sticky: r.IntN(5) < 2, submitAt: millis(r, 0, 8000), waits: r.IntN(3) == 0}
	run.spec = lifecycle.Spec{
		ID: id, Prompt: "Do " + id + ".", Engine: "resumable", SessionTimeout: seconds(r, 5, 60),
		AutoDecide: r.IntN(2) == 0, MaxAutoDecisions: 1 + r.IntN(3), Repeatable: r.IntN(2) == 0,
	}
	if run.sticky {
		run.spec.Engine = "sticky"
	}
	if r.IntN(4) == 0 {
		run.spec.Key = "one"
	}
	if r.IntN(6) == 0 {
		run.spec.TurnTimeout = seconds(r, 5, 20)
	}
	if r.IntN(6) == 0 {
		run.spec.NotBefore = epoch.Add(seconds(r, 5, 30))
	}
	if r.IntN(10) == 0 {
		run.spec.Mode = lifecycle.Auto
	}
	if !calm && r.IntN(8) == 0 {
		run.expires = millis(r, 1000, 100_000)
	}
	run.clings = r.IntN(4) == 0
	questions := r.IntN(4)
	if r.IntN(8) == 0 {
		run.spec.MaxAttempts = 1 + r.IntN(questions+2)
	}
	for i := range questions + 1 {
		run.turns = append(run.turns, newTurn(r, i < questions, calm))
	}
	for i := range r.IntN(3) {
		run.repliers = append(run.repliers, &replierPlan{
			name: fmt.Sprintf("%s.person%d", id, i+1), seed: r.Uint64(), thinks: millis(r, 500, 40_000),
			keyed:    r.IntN(4) > 0,
			patience: 2 + r.IntN(12), clumsy: r.IntN(2) == 0,
		})
	}
	if r.IntN(5) == 0 {
		run.cancelAt = millis(r, 100, 90_000)
	}
	for i := range r.IntN(3) {
		f := followerPlan{name: fmt.Sprintf("%s.reader%d", id, i+1)}
		if r.IntN(2) == 0 {
			f.breaks = 1 + r.IntN(6)
		}
		run.followers = append(run.followers, f)
	}
	run.overload()
	return run
}

// overload makes the models of some agents overloaded, for some runs more often than they are
// retried. Its random numbers come from a separate generator, so that a seed still draws everything
// else as it did before overloads existed.
func (p *runPlan) overload() {
	r := rand.New(rand.NewPCG(uint64(p.submitAt), uint64(p.spec.SessionTimeout)))
	if r.IntN(2) == 0 {
		p.spec.Retry = &lifecycle.Retry{Max: 1 + r.IntN(3), MaxBackoff: 5 * time.Second, Jitter: time.Second}
	}
	for i := range p.turns {
		if r.IntN(12) == 0 {
			p.turns[i].busy = 1 + r.IntN(3)
		}
	}
}

func newTurn(r *rand.Rand, asks, calm bool) turnPlan {
	t := turnPlan{asks: asks, messages: r.IntN(3), handle: r.IntN(2) == 0, takes: millis(r, 0, 5000)}
	if r.IntN(4) == 0 {
		t.takes = millis(r, 5000, 40_000)
	}
	t.deaf = !calm && r.IntN(8) == 0
	t.fails = r.IntN(30) == 0
	policies := []interaction.DecisionPolicy{interaction.EngineJudgement, interaction.SafeDefault, interaction.Abort}
	t.policy = policies[r.IntN(len(policies))]
	return t
}

// epoch is the time at which a bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
