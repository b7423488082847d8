package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
)

// kind is what shall become of a run.
type kind string

const (
	alone    kind = "alone"    // asks no question
	answered kind = "answered" // each question is answered
	silent   kind = "silent"   // some questions are decided at their deadline
	limited  kind = "limited"  // exceeds the limit of automatic decisions: fails
	strict   kind = "strict"   // keeps its process, needs an answer, gets none: fails at the deadline
	canceled kind = "canceled" // canceled at some time, in any state
	parked   kind = "parked"   // waits until everything else is over
	long     kind = "long"     // has one turn of 100 s, which no harm may interrupt
)

// act is what people do about a question.
type act string

const (
	once      act = "once"
	askAgain  act = "again"     // send the same reply again, later
	rivals    act = "rivals"    // two people reply at the same time
	otherwise act = "otherwise" // send another reply with the same key, which is refused
	stop      act = "stop"      // reply and cancel at the same time
	late      act = "late"      // reply just when the deadline passes
	nothing   act = "nothing"
)

// plan defines a run's behaviour, and people's. It depends on the seed and the run's number.
type plan struct {
	n        int
	id       string
	kind     kind
	job      job
	acts     []act           // by question
	delays   []time.Duration // by question: how long people think
	cancelAt time.Duration   // when a canceled run is canceled, from its submission
	followed bool            // a reader follows its events
	spec     lifecycle.Spec
}

// job is the agent's part of the plan. It is sent as the prompt.
type job struct {
	Questions int           `json:"questions"`
	Messages  int           `json:"messages"`       // in each turn
	Work      time.Duration `json:"work"`           // in each turn
	Dies      int           `json:"dies,omitempty"` // the resident process ends by itself after this question
}

// The pools, and how many keys the second one has.
const (
	sharedPool = slots.DefaultPool
	tenantPool = "tenants"
	longPool   = "long"
	tenants    = 7
)

// residentEngine is the name of the engine whose processes survive waits.
const residentEngine = "resident"

// shortWait is the session timeout of questions whose deadline is waited for: one second, the least
// that is allowed.
const shortWait = time.Second

// planFor makes the plan of run n. With idle, the agent does no work, for measuring.
func planFor(seed uint64, n int, idle bool) plan {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	p := plan{n: n, id: fmt.Sprintf("run-%06d", n), kind: answered}
	switch part := r.IntN(1000); {
	case part < 80:
		p.kind = alone
	case part < 170:
		p.kind = silent
	case part < 190:
		p.kind = limited
	case part < 230:
		p.kind = strict
	case part < 330:
		p.kind = canceled
	case part < 350 || n < 3: // the first three in any case
		p.kind = parked
	}
	p.job = job{Questions: 1 + r.IntN(3), Messages: r.IntN(3), Work: work(r)}
	if idle {
		p.job.Work = 0
	}
	p.spec = lifecycle.Spec{ID: p.id, Mode: lifecycle.Interactive, Repeatable: r.IntN(100) < 60,
		Priority: r.IntN(3) - 1, Labels: map[string]string{"kind": string(p.kind)}}
	if r.IntN(2) == 0 {
		p.spec.Pool, p.spec.Key = tenantPool, fmt.Sprintf("tenant-%d", r.IntN(tenants))
	}
	if r.IntN(20) == 0 {
		p.spec.NotBefore = time.Now().Add(time.Duration(r.IntN(1500)) * time.Millisecond)
	}
	p.followed = r.IntN(20) == 0 && p.kind != parked
	p.cast(r)
	prompt, _ := json.Marshal(p.job) // it only has numbers
	p.spec.Prompt = string(prompt)
	return p
}

// work draws how long turns take. Most are short, and some are so long that a disturbance of their
// node is likely to meet them.
func work(r *rand.Rand) time.Duration {
	longest := 10
	switch part := r.IntN(100); {
	case part < 10:
		longest = 600
	case part < 50:
		longest = 120
	}
	return time.Duration(1+r.IntN(longest)) * time.Millisecond
}

const longPrefix = "long-"

// longPlan makes the plan of a long run: a turn that must not be repeated.
func longPlan(n int) plan {
	p := plan{n: n, id: fmt.Sprintf("%s%06d", longPrefix, n), kind: long, job: job{Work: 100 * time.Second}}
	prompt, _ := json.Marshal(p.job) // it only has numbers
	p.spec = lifecycle.Spec{ID: p.id, Mode: lifecycle.Auto, Pool: longPool, Prompt: string(prompt)}
	return p
}

// cast decides what people do.
func (p *plan) cast(r *rand.Rand) {
	sticky := false
	switch p.kind {
	case alone:
		p.job.Questions = 0
		if r.IntN(2) == 0 {
			p.spec.Mode = lifecycle.Auto
		}
	case answered, canceled:
		sticky = r.IntN(100) < 20
	case silent:
		p.spec.AutoDecide, p.spec.SessionTimeout = true, shortWait
		sticky = r.IntN(100) < 20
	case limited:
		p.spec.AutoDecide, p.spec.SessionTimeout, p.spec.MaxAutoDecisions = true, shortWait, 1
		p.job.Questions = 2
	case strict:
		p.spec.SessionTimeout = shortWait
		sticky, p.job.Questions = true, 1
	case parked:
		p.spec.AutoDecide = r.IntN(2) == 0 // without it, the run waits without limit
		p.spec.SessionTimeout = 24 * time.Hour
		p.job.Questions = 1
	}
	if sticky {
		p.spec.Engine = residentEngine
	}
	if sticky && r.IntN(20) == 0 {
		p.job.Dies = 1 + r.IntN(p.job.Questions)
	}
	for range p.job.Questions {
		p.acts = append(p.acts, p.act(r))
		p.delays = append(p.delays, time.Duration(r.IntN(60))*time.Millisecond)
	}
	p.cancelAt = time.Duration(r.IntN(400)) * time.Millisecond
}

func (p *plan) act(r *rand.Rand) act {
	part := r.IntN(100)
	switch p.kind {
	case limited, strict, parked:
		return nothing
	case silent:
		switch {
		case part < 60:
			return nothing
		case part < 80:
			return late
		}
		return once
	case canceled:
		if part < 30 {
			return stop
		}
		return once
	}
	switch {
	case part < 60:
		return once
	case part < 75:
		return askAgain
	case part < 90:
		return rivals
	}
	return otherwise
}

// sticky reports whether the run keeps a process while it waits.
func (p *plan) sticky() bool { return p.spec.Engine == residentEngine }

// readJob finds the job in a turn's prompt, where the instructions of the run's mode follow it.
func readJob(prompt string) (j job, _ error) {
	at := strings.Index(prompt, `{"questions"`)
	if at < 0 {
		return j, fmt.Errorf("the prompt has no job: %.200q", prompt)
	}
	err := json.NewDecoder(strings.NewReader(prompt[at:])).Decode(&j)
	return j, err
}
