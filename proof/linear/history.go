package linear

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Kind says what was asked for.
type Kind string

// What is asked of a run: Submit, Reply, Cancel and Get by clients, Claim and Write by nodes, whose
// stores are recorded. Leave is the end of a node's registration, by itself or by another.
const (
	Submit Kind = "submit"
	Reply  Kind = "reply"
	Cancel Kind = "cancel"
	Get    Kind = "get"
	Claim  Kind = "claim"
	Write  Kind = "write"
	Leave  Kind = "leave"
)

// Input is what somebody asked for.
type Input struct {
	Kind   Kind
	Run    string
	Node   string            // of Claim and Leave
	Terms  Terms             // of Submit
	Reply  interaction.Reply // of Reply
	Change *Change           // of Write
	After  *store.Run        // of Claim: the run as it was started
}

// Terms are what a submission fixes.
type Terms struct {
	Digest                                    string
	Interactive, Strict, Repeatable           bool
	MaxAttempts, MaxAutoDecisions             int
	SessionTimeout                            time.Duration
	Pool, Key                                 string
	Priority                                  int
	SchemaDeclared, SchemaPermissive, Delayed bool
}

// Change is one commit of a node: the event that it says has happened, and the record as it shall
// stand.
type Change struct {
	Event    string // of the contract; empty for a report of a running turn
	Expect   uint64
	Fence    *store.Fence
	Settles  int // the interaction that it settles; 0: none
	After    store.Run
	Evidence *Evidence // of a turn's end, nil when it is not known
}

// Evidence is what a turn left, as its engine knows it.
type Evidence struct {
	Facts   contract.Facts // those that are the turn's own
	Profile string
	Handle  bool
	Code    string // of a failed process
}

// Output is the answer. Those of two equal answers are equal.
type Output struct {
	Unknown  bool   // nobody learned it
	Err      string // its class, and what it tells; empty: none
	Seen     View   // of Submit and Get: the run
	Replayed bool   // of Reply: the receipt was given before
}

// Log records a history. It is safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	now int64                 // guarded by mu; counts calls and returns, which is all that is known of their order
	ops []porcupine.Operation // guarded by mu
}

// Call is one call on its way.
type Call struct {
	log *Log
	i   int
}

// Call notes that a client asks for something; it must be made before the asking.
func (l *Log) Call(client int, in Input) Call {
	return l.call(client, in, Output{Unknown: true})
}

// CallPool is Call for the history of a pool.
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

// Return notes the answer; it must be made after it. One that is not known leaves the call open for
// ever.
func (c Call) Return(out Output) {
	if !out.Unknown {
		c.answer(out)
	}
}

// ReturnPool is Return for the history of a pool.
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

// Learned adds a call with its answer when what was asked for became known only with the answer, as
// a claim's runs do. The time is that of Now before it was asked.
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

// Now is the present moment, for Learned.
func (l *Log) Now() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	return l.now
}

// Operations is the history so far. Calls that did not return yet have an unknown outcome in it.
func (l *Log) Operations() []porcupine.Operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ops)
}

// ByRun parts a history by the runs that it is about. Nodes that leave concern each run that they
// wrote to.
func ByRun(history []porcupine.Operation) map[string][]porcupine.Operation {
	runs, nodes := make(map[string][]porcupine.Operation), make(map[string]map[string]bool)
	for _, op := range history {
		in := inputOf(op)
		if in.Run == "" {
			continue
		}
		runs[in.Run] = append(runs[in.Run], op)
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
		if in := inputOf(op); in.Kind == Leave {
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
