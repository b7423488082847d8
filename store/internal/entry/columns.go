package entry

import (
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/asked"
)

// Columns duplicate parts of a run's record for a database's indexes. Zero means NULL, and a run
// with NULL is not in that column's partial index: a finished run is in almost no index.
type Columns struct {
	QueuedAt time.Time // queued
	Ready    bool      // queued, wants a slot, and its not-before time has come
	// DelayedUntil: queued without a slot and delayed by its not-before time; or waiting for its
	// children, see Awaiting; or held, in a separate range, see HeldFrom.
	DelayedUntil time.Time
	Suspect      bool // see EngineColumn
	Slot         bool
	Owner        string
	// AskedAt: waiting for an answer. If no open question is for everybody, it is in a separate range,
	// see Addressed.
	AskedAt    time.Time
	Deadline   time.Time // of a waiting run; or when work on a run's parent and children is due (Run.DueAt); or Kept
	FinishedAt time.Time
}

func ColumnsOf(r *store.Run) Columns {
	c := Columns{Slot: r.Slot, Owner: r.Owner, Deadline: r.DueAt(), FinishedAt: r.FinishedAt}
	if r.KeptForParent() {
		c.Deadline = time.UnixMicro(Kept).UTC()
	}
	if r.State == fsm.StateQueued {
		c.QueuedAt, c.Suspect = r.QueuedAt, r.Suspect()
		switch {
		case r.Slot: // the next turn of a sticky run, claimed only by its owner
		case r.AwaitsChildren():
			c.DelayedUntil = time.UnixMicro(Awaiting).UTC()
		case r.Held(): // below
		case r.NotBefore.After(r.UpdatedAt):
			c.DelayedUntil = r.NotBefore
		default:
			c.Ready = true
		}
	}
	if r.Held() {
		c.DelayedUntil = heldColumn(r)
	}
	if len(r.Open) > 0 {
		c.AskedAt = r.Open[0].AskedAt
		if !asked.Anyone(r) {
			c.AskedAt = time.UnixMicro(c.AskedAt.UnixMicro() + Addressed).UTC()
		}
	}
	return c
}

// Kept is the deadline column of a child that is kept for its parent: the beginning of the year 9999
// in microseconds. Nothing is due then, but a run with a deadline is not pruned.
const Kept int64 = 253370764800000000

// suspectMark ends the engine column of a suspect: a claim by engine name finds no suspects unless
// it asks for them, also from nodes of earlier releases. No engine name has this character or a
// smaller one, so marked names sort like the names.
const suspectMark = "!"

// EngineColumn is the column by which claims find a queued run: its engine, marked for a suspect.
func EngineColumn(r *store.Run) string {
	if r.Suspect() {
		return r.Engine + suspectMark
	}
	return r.Engine
}

func EngineOf(column string) string { return strings.TrimSuffix(column, suspectMark) }

// ClaimedEngines returns the engine columns of the runs that a claim may pick; nil: any.
func ClaimedEngines(req *store.ClaimRequest) []string {
	if !req.Suspects {
		return req.Engines
	}
	return SuspectEngines(req.Engines)
}

// SuspectEngines returns the engine columns of these engines' suspects.
func SuspectEngines(engines []string) []string {
	marked := make([]string, len(engines))
	for i, name := range engines {
		marked[i] = name + suspectMark
	}
	return marked
}

// Held runs share the column of delayed runs, in a range beyond every time of the calendar. Thus no
// node, also of an earlier release, claims them, and one index finds them all:
//
//	HeldFrom + Until   queued, until a decision or that time
//	heldForGood        queued, until a decision
//	HeldWaiting + T    waiting, held since T
//
// The numbers are in microseconds. Times of the years 0 to 9999 lie between -0.7e17 and 2.6e17.
const (
	// Held is the lower bound of the range: the column is larger for held runs, smaller for delayed
	// ones.
	Held int64 = 3e17
	// Awaiting is the value of every run that waits for its children, which counts neither as
	// delayed nor as held.
	Awaiting          = Held
	HeldFrom    int64 = 4e17
	heldForGood int64 = 7e17
	HeldWaiting int64 = 8e17
)

// Addressed is added to AskedAt, in microseconds, of a run whose open questions all name an
// audience: one index has the questions for everybody before all others. A run parked by an earlier
// version is among those for everybody; only its record has the audience.
const Addressed int64 = 4e17

func heldColumn(r *store.Run) time.Time {
	at := heldForGood
	switch {
	case r.State == fsm.StateWaitingUser:
		at = HeldWaiting + r.HeldSince().UnixMicro()
	case !r.Block.Until.IsZero():
		at = HeldFrom + r.Block.Until.UnixMicro()
	}
	return time.UnixMicro(at).UTC()
}
