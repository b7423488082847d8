package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// kind is what is to become of a run.
type kind string

const (
	alone    kind = "alone"    // asks nobody
	answered kind = "answered" // each question is answered
	silent   kind = "silent"   // its question is decided at the deadline
	parked   kind = "parked"   // waits until the deploy is over, and is answered then
	canceled kind = "canceled" // somebody cancels it
	broken   kind = "broken"   // its agent fails for good
	delayed  kind = "delayed"  // must not start before a time
	reviewed kind = "reviewed" // wants an engine that the first version has not got
)

// plan is a run. It follows from the seed and its number.
type plan struct {
	kind      kind
	questions int
	spec      lifecycle.Spec
}

// planFor makes the plan of run n.
func planFor(o *options, n int) plan {
	r := rand.New(rand.NewPCG(o.seed, uint64(n)))
	kinds := []kind{answered, parked, answered, silent, reviewed, answered, alone, canceled, delayed, broken}
	p := plan{kind: kinds[n%len(kinds)], questions: 1}
	p.spec = lifecycle.Spec{
		ID: fmt.Sprintf("run-%05d", n), Engine: "writer", Repeatable: !o.orderly && o.without != "repeat",
		MaxRepeats: manyTries, Labels: map[string]string{"kind": string(p.kind)}, Key: fmt.Sprintf("tenant-%d", n%7),
		Priority: r.IntN(3) - 1,
	}
	if o.without != "retry" {
		p.spec.Retry = &lifecycle.Retry{Max: manyTries, Backoff: 20 * time.Millisecond,
			MaxBackoff: 200 * time.Millisecond}
	}
	switch p.kind {
	case alone, broken:
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
	job, _ := json.Marshal(map[string]any{ // of numbers and a bool
		"questions": p.questions, "breaks": p.kind == broken, "work": time.Duration(100+r.IntN(200)) * time.Millisecond,
	})
	p.spec.Prompt = string(job)
	return p
}

// manyTries is how often in a row a turn may be executed again. A deploy that is given up half way
// should not use them up.
const manyTries = 500
