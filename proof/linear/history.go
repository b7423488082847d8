package linear

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Kind is the kind of a call.
type Kind string

// The kinds of calls about a run: clients make Submit, Reply, ClaimQuestion, ReleaseQuestion,
// Reassign, Forget, Note, Cancel, Resume, Extend, Get, ReadUsage, Fork and FindForks; nodes make Claim and
// Write, and their stores are recorded. StartFork is what a Fork is for the new run. Leave is the end of a
// node's registration, by the node itself or by another one, and Depart its departure, which shows
// the runs that it has parked as recovered.
const (
	Submit          Kind = "submit"
	Reply           Kind = "reply"
	Cancel          Kind = "cancel"
	Resume          Kind = "resume"
	Extend          Kind = "extend"
	ClaimQuestion   Kind = "claim question"   // a person claims a question
	ReleaseQuestion Kind = "release question" // a person gives it back
	Reassign        Kind = "reassign"         // a person puts it to others
	Forget          Kind = "forget"           // a person ends a remembered decision
	Note            Kind = "note"             // a person writes a note on a question
	Get             Kind = "get"
	ReadUsage       Kind = "usage" // a person reads the run's usage
	Fork            Kind = "fork"
	FindForks       Kind = "forks" // a person finds the forks of a run
	StartFork       Kind = "start fork"
	Claim           Kind = "claim"
	Write           Kind = "write"
	Leave           Kind = "leave"
	Depart          Kind = "depart"
)

// Input is one call.
type Input struct {
	Kind Kind
	Run  string
	Node string // for Claim, Leave and Depart
	// Departed is for Depart: when the store says that the node went, in microseconds.
	Departed int64
	Terms    Terms // for Submit
	// Reply is for Reply; its ID and Actor for ClaimQuestion, ReleaseQuestion, Reassign, Forget
	// and Note, whose text and key it has, too.
	Reply  interaction.Reply
	Right  Right            // of the deputy who makes the call
	From   string           // for Reassign: who was asked when the caller looked, as TextOfAudience says it
	To     string           // for Reassign: who is asked from then on
	Resume lifecycle.Resume // for Resume
	Until  Until            // for Extend
	Fork   *Forking         // for Fork
	Source string           // for StartFork: the run that is forked; set by ByRun
	Change *Change          // for Write
	After  *store.Run       // for Claim: the run as it was started
}

// Terms are fixed by a submission for the whole run.
type Terms struct {
	Digest                                    string
	Interactive, Strict, Repeatable           bool
	Hold, Ask                                 bool // lifecycle.HoldOn, lifecycle.Ask
	MaxAttempts, MaxAutoDecisions             int
	SessionTimeout                            time.Duration
	Pool, Key                                 string
	Priority                                  int
	SchemaDeclared, SchemaPermissive, Delayed bool
	Excepted                                  string // the submitter, who may not answer; empty: no
	// one
	Budget store.Budget
	Hides  time.Duration // how long approvals are hidden while the hosts' policy decides; 0: not
}

// Change is one commit of a node: the event that it reports, and the record that it stores.
type Change struct {
	Event    string // the contract's event; empty for a report of a running turn
	Expect   uint64
	Fence    *store.Fence
	Settles  int // the interaction that it settles; 0 for none
	After    store.Run
	Evidence *Evidence    // of the turn that ends; nil if it is unknown
	Usage    *store.Usage // of the turn that ends; nil if its engine reported none
	Began    bool         // the agent is known to have begun the turn of this attempt
	Ruled    *Ruled       // a decision by a policy or a remembered decision; else nil
}

// Evidence is a turn's result in the view of its engine.
type Evidence struct {
	Facts    contract.Facts // only facts about the turn itself
	Profile  string
	Handle   bool
	Code     string   // the failure of the process
	Asked    int      // how many questions it asks; 0 or 1: one at most
	Needs    int      // how many answers it needs, if it asks several
	Stops    bool     // whether a rejection stops it, if it asks several
	Waits    []string // of its questions, as TextOf describes them; "" for none
	Policies []string // of its questions, as TextOfPolicy describes them
	Used     string   // the engine's report, as in TextOfUsage; "" if none
}

// Output is the answer of a call. Equal answers are equal values.
type Output struct {
	Unknown  bool   // no caller learned the answer
	Err      string // the class of the error and its details; empty for none
	Seen     View   // for Submit and Get: the run
	Replayed bool   // for Reply and Note: the same receipt was given before
	Note     int    // for Note: its number
	Used     string // for ReadUsage: see TextOfTurns
	// Inherited and Begins are for Fork, see Forking, and Forks for FindForks: the ids, each with a
	// space.
	Inherited, Begins, Forks string
}

// Log records a history. It is safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	now int64                 // guarded by mu; counts calls and returns; only their order matters
	ops []porcupine.Operation // guarded by mu
}

// Call is a call that has not returned yet.
type Call struct {
	log *Log
	i   int
}

// Call records the call of a client. It must be called before the client's call.
func (l *Log) Call(client int, in Input) Call {
	return l.call(client, in, Output{Unknown: true})
}

// CallPool is like Call, for the history of a pool.
func (l *Log) CallPool(client int, in PoolInput) Call {
	return l.call(client, in, PoolOutput{Unknown: true})
}

func (l *Log) call(client int, in, unknown any) Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	l.ops = append(l.ops, porcupine.Operation{ClientId: client, Input: in, Call: l.now, Output: unknown,
		Return: math.MaxInt64})
	return Call{l, len(l.ops) - 1}
}

// Return records the answer. It must be called after the client has got it. An unknown answer
// leaves the call open without end.
func (c Call) Return(out Output) {
	if !out.Unknown {
		c.answer(out)
	}
}

// ReturnPool is like Return, for the history of a pool.
func (c Call) ReturnPool(out PoolOutput) {
	if !out.Unknown {
		c.answer(out)
	}
}

func (c Call) answer(out any) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.log.now++
	c.log.ops[c.i].Output, c.log.ops[c.i].Return = out, c.log.now
}

// Learned adds a call together with its answer, if the input is known only from the answer, like
// the runs of a claim. The time asked is Now before the call.
func (l *Log) Learned(client int, asked int64, in Input, out Output) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	op := porcupine.Operation{ClientId: client, Input: in, Call: asked, Output: out, Return: l.now}
	if out.Unknown {
		op.Return = math.MaxInt64
	}
	l.ops = append(l.ops, op)
}

// Now returns the present moment, for Learned.
func (l *Log) Now() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	return l.now
}

// Operations returns the history so far. A call that has not returned yet counts as a call with an
// unknown outcome.
func (l *Log) Operations() []porcupine.Operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ops)
}

// ByRun splits a history by run. A fork is part of the history of its source, and of the run that
// it may have made. A node's leaving is part of the history of each run that the node wrote to.
func ByRun(history []porcupine.Operation) map[string][]porcupine.Operation {
	runs, nodes := make(map[string][]porcupine.Operation), make(map[string]map[string]bool)
	for _, op := range history {
		in := inputOf(op)
		if in.Run == "" {
			continue
		}
		runs[in.Run] = append(runs[in.Run], op)
		if f := in.Fork; f != nil {
			source, out := &runs[in.Run][len(runs[in.Run])-1], op.Output.(Output) //nolint:forcetypeassert // likewise
			begun := op
			begun.Input = Input{Kind: StartFork, Run: f.ID, Source: in.Run, Fork: f}
			begun.Output = Output{Unknown: out.Unknown, Err: out.Err, Seen: out.Seen}
			if refused := out.Err == CannotFork || strings.HasPrefix(out.Err, NotAsked("")); !refused &&
				(!out.Unknown || f.Learned) {
				runs[f.ID] = append(runs[f.ID], begun)
			}
			out.Seen = View{}
			source.Output = out
		}
		if nodes[in.Run] == nil {
			nodes[in.Run] = make(map[string]bool)
		}
		if in.Kind == Claim {
			nodes[in.Run][in.Node] = true
		}
		if c := in.Change; c != nil {
			nodes[in.Run][c.After.Owner] = true
			if c.Fence != nil {
				nodes[in.Run][c.Fence.Node] = true
			}
		}
	}
	for _, op := range history {
		if in := inputOf(op); in.Kind == Leave || in.Kind == Depart {
			for run, concerned := range nodes {
				if concerned[in.Node] {
					runs[run] = append(runs[run], op)
				}
			}
		}
	}
	return runs
}

func inputOf(op porcupine.Operation) Input { return op.Input.(Input) } //nolint:forcetypeassert // Log makes no others
