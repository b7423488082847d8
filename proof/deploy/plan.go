package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// kind says what happens to a run.
type kind string

const (
	alone    kind = "alone"    // does not ask
	answered kind = "answered" // each question is answered
	silent   kind = "silent"   // its question is decided at the deadline
	parked   kind = "parked"   // waits until the deploy is over, and is answered then
	canceled kind = "canceled" // is canceled
	broken   kind = "broken"   // its agent fails for good
	unpaid   kind = "unpaid"   // its engine holds it until an operator has paid
	givenUp  kind = "given up" // its engine holds it, and the operator ends it
	delayed  kind = "delayed"  // must not start before a time
	reviewed kind = "reviewed" // needs an engine that the first version does not have
)

// plan describes a run. The seed and the run's number determine it.
type plan struct {
	kind      kind
	questions int
	repeats   bool // its spec has OnInterrupt set to Repeat
	// unattended says that no operator resumes the run while its session is refused. The library
	// tries the run again after a minute, so only long drills have such runs.
	unattended bool
	spec       lifecycle.Spec
}

// planFor makes the plan of run n.
func planFor(o *options, n int) plan {
	r := rand.New(rand.NewPCG(o.seed, uint64(n)))
	kinds := []kind{answered, parked, answered, silent, reviewed, answered, alone, canceled, delayed, broken, unpaid,
		givenUp}
	p := plan{kind: kinds[n%len(kinds)], questions: 1}
	p.spec = lifecycle.Spec{
		ID: fmt.Sprintf("run-%05d", n), Engine: "writer", Labels: map[string]string{"kind": string(p.kind)},
		Key: fmt.Sprintf("tenant-%d", n%7), Priority: r.IntN(3) - 1,
	}
	switch p.repeats = r.IntN(3) == 0; o.without { // so that a missing safeguard affects each run
	case "repeat":
		p.repeats = true
	case "ask", "grace":
		p.repeats = false
	}
	if p.repeats { // the host decides for the other runs
		p.spec.OnInterrupt, p.spec.MaxRepeats = lifecycle.Repeat, manyTries
		if o.without == "repeat" {
			p.spec.OnInterrupt = lifecycle.Fail
		}
	}
	switch p.kind {
	case alone, broken, givenUp:
		p.questions = 0
	case answered:
		p.questions = 1 + r.IntN(3)
	case silent:
		p.spec.AutoDecide, p.spec.SessionTimeout = true, time.Second
	case delayed:
		p.spec.NotBefore = time.Now().Add(time.Second)
	case reviewed:
		p.spec.Engine = "reviewer"
	}
	unpaidTurns := map[kind]int{unpaid: 1, givenUp: math.MaxInt32}
	p.unattended = p.kind == parked && o.runs >= 1000 && n%5 == 0
	job, _ := json.Marshal(map[string]any{ // cannot fail: only numbers and a bool
		"questions": p.questions, "breaks": p.kind == broken, "unpaid": unpaidTurns[p.kind],
		"work": time.Duration(100+r.IntN(200)) * time.Millisecond,
	})
	p.spec.Prompt = string(job)
	return p
}

// manyTries is how often in a row a turn may lose its worker. It is so large that even a drill with
// many killed nodes does not reach it.
const manyTries = 500
