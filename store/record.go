package store

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Run is the stored record of one run. Its state, slot, question and deadline always agree, because
// they are stored together.
type Run struct {
	ID string `json:"id" plain:"own"`
	// Version counts the commits of the run, from 1.
	Version uint64 `json:"version"`
	// Incarnation is the store's incarnation (see Marker) when the record was read; zero before the
	// first restore, and for stores that do not set it. It is not part of the stored record. A commit
	// keeps the value from the record on which it was decided. The store refuses it in another
	// incarnation: a lost record may have had the same version and other content.
	Incarnation uint64 `json:"-"`
	// Contract is the version of the contract under which the run was made.
	Contract string `json:"contract" plain:"word"`

	// Fixed at submission.
	SpecDigest       string        `json:"spec_digest"`
	Engine           string        `json:"engine"`
	Mode             fsm.Mode      `json:"mode"`
	Strict           bool          `json:"strict"`
	SessionTimeout   time.Duration `json:"session_timeout"`
	MaxAttempts      int           `json:"max_attempts,omitempty"`       // 0: not declared
	MaxAutoDecisions int           `json:"max_auto_decisions,omitempty"` // 0: none allowed
	Repeatable       bool          `json:"repeatable,omitempty"`
	MaxRepeats       int           `json:"max_repeats,omitempty"`  // 0: the lifecycle's default
	OnInterrupt      OnInterrupt   `json:"on_interrupt,omitempty"` // empty: as Repeatable or the host
	// decides
	Hold     HoldPolicy `json:"hold,omitempty"` // empty: as the host decides
	Pool     string     `json:"pool" plain:"own"`
	Key      string     `json:"key,omitempty" plain:"own"`
	Priority int        `json:"priority,omitempty"` // higher first
	// NotBefore is the earliest time at which the run can leave the queue. It becomes later when an
	// interrupted turn returns the run to the queue.
	NotBefore time.Time         `json:"not_before,omitzero"`
	Title     string            `json:"title,omitempty"` // for people; an earlier release drops it
	Labels    map[string]string `json:"labels,omitempty"`
	CreatedAt time.Time         `json:"created_at"`
	// ForkedFrom is the source of a fork, or nil.
	ForkedFrom *ForkPoint `json:"forked_from,omitempty"`
	// Family relates the run to its ancestors and children, or is nil.
	Family *Family `json:"family,omitempty"`

	// The state.
	State     fsm.State `json:"state"`
	UpdatedAt time.Time `json:"updated_at"`
	// QueuedAt is when the run last entered the queue.
	QueuedAt time.Time `json:"queued_at,omitzero"`
	// Attempt is the number of the current or last turn; 0 before the first.
	Attempt int `json:"attempt"`
	// Repeats counts consecutive repeats and retries after a lost worker or a transient failure,
	// since a turn last ended without a failure or added to the journal.
	Repeats int `json:"repeats,omitempty"`
	// Losses counts the Repeats after turns whose node died, except a first loss before any Yielded,
	// which leaves the record as earlier releases store it; see Suspect. An earlier release drops it,
	// unless the record needs it (Needs).
	Losses int `json:"losses,omitempty"`
	// Yielded counts attempts that MaxAttempts ignores: turns retried later, held or returned
	// unexecuted, or in which a fork repeated its source's questions.
	Yielded int `json:"yielded,omitempty"`
	// Holds counts consecutive holds, since a turn last ended without a failure or an operator
	// resumed the run.
	Holds int `json:"holds,omitempty"`
	// Budget has the run's limits and usage, or is nil.
	Budget *RunBudget `json:"budget,omitempty"`
	// Remembered lists the remembered decisions, oldest first; at most interaction.MaxMemories. It is
	// empty after the end of the run.
	Remembered []interaction.Memory `json:"remembered,omitempty"`
	// Restricted reports that the specification restricts who may answer, or sets the questions'
	// wait. An earlier release, which would ignore that, refuses the record.
	Restricted bool `json:"restricted,omitempty"`
	// Votes counts the votes on the run's approvals by several people. Their idempotency keys share
	// the replies' key space, and are stored with the questions.
	Votes int `json:"votes,omitempty"`
	// Reported is the size in bytes of the events that its turns have reported. Earlier releases
	// did not count it.
	Reported int `json:"reported,omitempty"`
	// Trace identifies the trace of the last turn whose end was stored, for example by its span's
	// traceparent; empty without telemetry. It decides nothing, and an earlier release drops it.
	Trace string `json:"trace,omitempty"`
	// Journal is the size of the run's journal; nil while empty.
	Journal *interaction.JournalSize `json:"journal,omitempty"`
	// Block says why the run cannot continue now; nil if it can.
	Block *Block `json:"block,omitempty"`
	// Slot reports that the run holds an execution slot of its pool.
	Slot bool `json:"slot,omitempty"`
	// Owner is the node that executes the run, holds its process, or parked it; empty if none.
	Owner string `json:"owner,omitempty"`
	// Epoch is the fencing epoch of the last claim.
	Epoch uint64 `json:"epoch,omitempty"`
	// Seq is the number of the last event, and LocalSeq the count of events in the current attempt.
	Seq      uint64 `json:"seq"`
	LocalSeq uint64 `json:"local_seq,omitempty"`

	// The session.
	Profile fsm.Profile                `json:"profile,omitempty"` // empty until probed
	Session *interaction.SessionHandle `json:"session,omitempty"`

	// The question.
	Interactions int `json:"interactions,omitempty"` // asked so far
	// Open are the open questions, by number: one, or several that were asked together. A run has
	// open questions exactly in waiting_user. In JSON, the first is pending, the others siblings.
	Open []interaction.Question `json:"-" plain:"first=pending,rest=siblings"`
	// Together describes the last turn's questions, if several, until a turn with their answers has
	// ended.
	Together *Together `json:"together,omitempty"`
	Deadline time.Time `json:"wait_deadline_at,omitzero"`
	// Answers has the accepted answer to a single question, until a turn with it has ended. Answers
	// to several questions are only in the history. In JSON, it is answer.
	Answers            []interaction.Answer `json:"-" plain:"first=answer"`
	AutoDecisions      int                  `json:"auto_decision_count,omitempty"`
	LastAutoDecisionAt time.Time            `json:"last_auto_decision_at,omitzero"`

	// Recovery.
	Recovery       RecoveryState `json:"recovery_state"`
	RecoveredAt    time.Time     `json:"recovered_at,omitzero"`
	RecoveryReason string        `json:"recovery_reason,omitempty"`

	// The end.
	Output       json.RawMessage `json:"output,omitempty" plain:"exact"`
	FinalText    string          `json:"final_text,omitempty"`
	Error        *Failure        `json:"error,omitempty"`
	Warnings     []fsm.Warning   `json:"warnings,omitempty"` // each code once, in order of appearance
	CancelReason string          `json:"cancel_reason,omitempty"`
	FinishedAt   time.Time       `json:"finished_at,omitzero"`
}

// ForkPoint is the point from which a fork continues. The source may have been pruned since.
type ForkPoint struct {
	RunID string `json:"run_id" plain:"own"`
	// Question is the number of the settled question; 0 for the end of the run.
	Question int `json:"question,omitempty"`
	// AsksAgain is the number of the source's questions that the fork repeats in its first turn,
	// because it does not inherit their answers; 0 if it starts with inherited answers. Until the
	// fork has a session, it uses the inherited one.
	AsksAgain int `json:"asks_again,omitempty"`
	// Withholds reports that the fork does not inherit all answers of the inherited history.
	Withholds bool `json:"withholds,omitempty"`
}

// AsksAgain reports whether the next turn of this fork repeats its source's questions, without a
// call of the engine.
func (r *Run) AsksAgain() bool {
	return r.ForkedFrom != nil && r.ForkedFrom.AsksAgain > 0 && r.Interactions == 0
}

// HasSession reports whether the run has a session, possibly an inherited one, which a fork uses
// until it is branched.
func (r *Run) HasSession() bool {
	return r.Session != nil || r.ForkedFrom != nil && r.ForkedFrom.AsksAgain > 0
}

// Block says why a run cannot continue for now. A blocked run holds no slot. It is queued, or
// parked with a block of the kind BlockHeld: then it stays waiting, and blocked after its question
// is answered.
type Block struct {
	Kind BlockKind `json:"kind"`
	// Until is the next automatic attempt. Zero: the run continues only when an operator resumes it
	// or the cause has gone.
	Until  time.Time `json:"until,omitzero"`
	Code   fsm.Code  `json:"code,omitempty"`
	Reason string    `json:"reason,omitempty"`
	// Choices are a person's possible decisions about a held run.
	Choices []Choice `json:"choices,omitempty"`
	// Children are the awaited runs: all must end; with Any, only one.
	Children []string `json:"children,omitempty"`
	Any      bool     `json:"any,omitempty"`
}

// BlockKind is the kind of a Block.
type BlockKind string

// The kinds of blocks.
const (
	// BlockRetry: the last turn failed transiently, and is retried at Until.
	BlockRetry BlockKind = "retry"
	// BlockSleep: the last turn ended well, and the next one starts at Until.
	BlockSleep BlockKind = "sleep"
	// BlockChildren: the last turn ended well, and the next one starts once Children have ended, or
	// at Until if set.
	BlockChildren BlockKind = "children"
	// BlockHeld: the run needs an operator to repair the cause, or has used up its budget. It is
	// not claimed before a commit has ended the block.
	BlockHeld BlockKind = "held"
)

// Choice is a decision about a held run.
type Choice string

// The choices.
const (
	ChoiceRepeat Choice = "repeat" // continue: execute the turn again, or wait for the answer
	ChoiceRaise  Choice = "raise"  // continue with a larger budget
	ChoiceEnd    Choice = "end"    // fail the run
)

// OnInterrupt is the policy for a turn interrupted by a shutdown or lost with its worker.
type OnInterrupt string

const (
	InterruptFail   OnInterrupt = "fail"   // the run fails
	InterruptRepeat OnInterrupt = "repeat" // the turn is executed again
	InterruptAsk    OnInterrupt = "ask"    // the run is held until an operator decides
)

// HoldPolicy decides whether a run is held instead of failed if an operator can repair the cause.
type HoldPolicy string

const (
	HoldOff HoldPolicy = "off"
	HoldOn  HoldPolicy = "on"
)

// DefaultMaxRepeats limits consecutive repeats after a lost worker if MaxRepeats is 0.
const DefaultMaxRepeats = 3

// Defaults of a Retry, and the longest pause that a Retry or an engine may ask for.
const (
	DefaultRetryBackoff    = time.Second
	DefaultRetryMaxBackoff = 5 * time.Minute
	MaxRetryPause          = 30 * 24 * time.Hour
)

// Retry is the policy for turns that failed for a transient reason: a rate limit, an overloaded
// model, a broken connection, or any other failure that the engine declares transient
// (engine.Failure.Transient, engine.Later). The run is queued until then, with its answer and
// session, and holds neither a slot nor a goroutine. Each retry is a new attempt, but does not
// count towards MaxAttempts.
//
// A turn may have had effects before it failed, so set Retry only for repeatable turns. Runs of the
// profile sticky_process are not retried, because their resident process cannot release its slot.
type Retry struct {
	// Max limits consecutive retries; the next transient failure fails the run with its code. A
	// turn that ends without a failure or adds to the run's journal (engine.Journal) resets the
	// count. Repeats after lost workers count towards Max too, and retries towards MaxRepeats. 0:
	// no retries.
	Max int `json:"max"`
	// Backoff is the pause before the first retry, and doubles up to MaxBackoff. 0 means
	// DefaultRetryBackoff and DefaultRetryMaxBackoff. An engine may ask for a longer pause.
	Backoff    time.Duration `json:"backoff,omitempty"`
	MaxBackoff time.Duration `json:"max_backoff,omitempty"`
	// Jitter is the largest pseudo-random addition to a pause, so that runs which failed together
	// are not all retried together.
	Jitter time.Duration `json:"jitter,omitempty"`
}

func (r *Run) Held() bool { return r.Block != nil && r.Block.Kind == BlockHeld }

const suspectLosses = 2

// losesNodes reports whether the run's turn must not be executed next to others: its nodes died
// twice in a row, or once and the next loss is the last.
func (r *Run) losesNodes() bool {
	return r.Losses >= suspectLosses || r.Losses > 0 && r.Repeats >= cmp.Or(r.MaxRepeats, DefaultMaxRepeats)
}

// Suspect reports whether the queued run may take its node down, and other runs with it: its nodes
// died twice in a row, or once and MaxRepeats allows no other repeat. Retries and lost agents do
// not count, because their nodes live; nor does a turn that was postponed or interrupted by a
// shutdown since. See ClaimRequest.Suspects.
func (r *Run) Suspect() bool {
	// Only after a loss, NotBefore is later than QueuedAt without a block.
	return r.State == fsm.StateQueued && !r.Slot && r.Block == nil && r.losesNodes() && r.NotBefore.After(r.QueuedAt)
}

// HeldSince returns the time from which a hold delays the run: its QueuedAt or, for a parked run,
// which waits anyway, its last commit (the begin of the hold, or an answer).
func (r *Run) HeldSince() time.Time {
	if r.State == fsm.StateQueued {
		return r.QueuedAt
	}
	return r.UpdatedAt
}

// Failure is why a run failed or was canceled.
type Failure struct {
	Code    fsm.Code `json:"code"`
	Message string   `json:"message"`
}

// RecoveryState is the latest effect of recovery on the run.
type RecoveryState string

const (
	RecoveryNone     RecoveryState = "none"
	RecoveredWaiting RecoveryState = "recovered_waiting"
	FailedReconciled RecoveryState = "failed_reconciled"
)

// PreservedReason is the RecoveryReason of a wait that survived its node.
const PreservedReason = "pending question and session are intact"

// Parked reports whether the run waits for a reply without a slot. Owner only names the node that
// parked it. Once that node has gone, readers see the run as recovered (ShowDeparture).
func (r *Run) Parked() bool { return r.State == fsm.StateWaitingUser && !r.Slot && r.Owner != "" }

// DepartureTime is the time of a departure as stored. Zero means that a node has not gone, so a
// caller's zero time becomes the Unix epoch, before the times of all runs.
func DepartureTime(now time.Time) time.Time {
	if now.IsZero() {
		now = time.UnixMicro(0)
	}
	return now.UTC().Truncate(time.Microsecond)
}

// ShowDeparture adapts a record for readers: a parked run with a session appears recovered once its
// owner has gone, at the given time (zero: not gone). The version stays, since nothing is written.
// A store calls it for every run that a Reader returns.
func (r *Run) ShowDeparture(at time.Time) {
	if at.IsZero() || !r.Parked() || !r.HasSession() {
		return
	}
	if at.Before(r.UpdatedAt) { // by the clock of another machine
		at = r.UpdatedAt
	}
	r.Recovery, r.RecoveredAt, r.RecoveryReason = RecoveredWaiting, at, PreservedReason
}

// MissesDeparture reports whether a commit of this record is based on a view of the parked run prev
// from before its owner's departure at that time. A store rejects it with ErrConflict, or a run
// shown as recovered would be stored as never recovered.
func (r *Run) MissesDeparture(prev *Run, at time.Time) bool {
	return !at.IsZero() && prev.Parked() && r.HasSession() && r.RecoveredAt.Before(at)
}
