package store

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// MaxBatch is the largest limit of a listing and of a claim.
const MaxBatch = 1000

// MinPage is the size in bytes from which a store may end a page of events before its limit, to
// save memory.
const MinPage = 256 << 10

// MaxPage is the size in bytes at which a store ends a page of runs before its limit. A page
// exceeds it by less than one record.
const MaxPage = 4 << 20

// Validate returns an error that matches ErrInvalid if no store may keep the commit, whatever the
// stored record. ValidateNext checks the rest. Neither compares versions and fences: those are
// races, not faults.
func (c *Commit) Validate() error {
	if err := c.Run.Validate(); err != nil {
		return err
	}
	if err := broken(&c.Run, c.brokenRule()); err != nil {
		return err
	}
	if c.Expect == 0 {
		if err := broken(&c.Run, c.brokenRuleOfCreation()); err != nil {
			return err
		}
	}
	r := &c.Run
	first := r.Seq - uint64(len(c.Events)) + 1
	for i, e := range c.Events {
		if e.Seq != first+uint64(i) {
			return invalid(r, "event %d has seq %d, want %d", i, e.Seq, first+uint64(i))
		}
		if len(e.Body) == 0 || bytes.IndexByte(e.Body, '\n') >= 0 {
			return invalid(r, "event %d is empty or has a line break", e.Seq)
		}
	}
	if err := c.validateTexts(); err != nil {
		return err
	}
	return c.validateSettled()
}

// ValidateNext returns an error that matches ErrInvalid if a valid commit does not follow from
// prev, the stored record. claim is set for claims: only they may give a run a slot and an epoch.
func (c *Commit) ValidateNext(prev *Run, claim bool) error {
	if prev.State.Terminal() && c.changesDueAlone(prev) {
		return nil
	}
	if err := broken(&c.Run, c.brokenRuleOfChange(prev, claim)); err != nil {
		return err
	}
	if err := c.validateUsage(prev); err != nil {
		return err
	}
	if err := c.validateBudget(prev); err != nil {
		return err
	}
	if err := c.validateJournal(prev); err != nil {
		return err
	}
	return c.validateQuestions(prev)
}

// stateChanges are the pairs of states, from and to, with a transition in the contract.
var stateChanges = func() map[[2]fsm.State]bool {
	pairs := make(map[[2]fsm.State]bool)
	for _, t := range fsm.Transitions() {
		pairs[[2]fsm.State{t.From, t.To}] = true
	}
	return pairs
}()

func hasTransition(from, to fsm.State) bool { return stateChanges[[2]fsm.State{from, to}] }

func sameSubmission(a, b *Run) bool {
	return a.ID == b.ID && a.Contract == b.Contract && a.SpecDigest == b.SpecDigest && a.Engine == b.Engine &&
		a.Mode == b.Mode && a.Restricted == b.Restricted &&
		a.Strict == b.Strict && a.SessionTimeout == b.SessionTimeout && a.MaxAttempts == b.MaxAttempts &&
		a.MaxAutoDecisions == b.MaxAutoDecisions && a.Repeatable == b.Repeatable && a.MaxRepeats == b.MaxRepeats &&
		a.OnInterrupt == b.OnInterrupt && a.Hold == b.Hold &&
		a.Pool == b.Pool && a.Key == b.Key && a.Title == b.Title &&
		a.Priority == b.Priority && maps.Equal(a.Labels, b.Labels) && a.CreatedAt.Equal(b.CreatedAt) &&
		sameForkPoint(a.ForkedFrom, b.ForkedFrom) && sameAncestors(a, b)
}

func sameForkPoint(a, b *ForkPoint) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Validate returns an error that matches ErrInvalid if the record contradicts itself.
func (r *Run) Validate() error {
	if err := broken(r, r.brokenRule()); err != nil {
		return err
	}
	return r.validateOpen()
}

const maxChoices = 8

func (b *Block) fits(r *Run) bool {
	queued := r.State == fsm.StateQueued
	switch {
	case r.Slot || b.Kind != BlockChildren && (b.Children != nil || b.Any):
		return false
	case b.Kind == BlockChildren:
		return queued && r.Family != nil && b.Choices == nil && b.Code == "" && len(b.Children) > 0 &&
			len(b.Children) <= MaxChildren
	case b.Kind == BlockRetry:
		return queued && b.Until.Equal(r.NotBefore) && b.Choices == nil
	case b.Kind == BlockSleep:
		return queued && b.Until.Equal(r.NotBefore) && b.Choices == nil && b.Code == ""
	case b.Kind == BlockHeld:
		return (queued || r.State == fsm.StateWaitingUser && b.Until.IsZero()) && len(b.Choices) > 0 &&
			len(b.Choices) <= maxChoices
	}
	return false
}

// Validate returns an error that matches ErrInvalid if the request is invalid.
func (q ClaimRequest) Validate() error {
	if q.Node == "" || q.Max < 1 || q.Max > MaxBatch || q.Start == nil {
		return fmt.Errorf("%w: a claim needs a node, Max from 1 to %d (is %d) and Start", ErrInvalid, MaxBatch, q.Max)
	}
	if q.Suspects && q.Engines == nil {
		return fmt.Errorf("%w: a claim of suspects needs Engines", ErrInvalid)
	}
	return validateEngines(q.Engines)
}

// ValidateLimit returns an error that matches ErrInvalid for an invalid limit.
func ValidateLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("%w: limit is %d, want at least 1", ErrInvalid, limit)
	}
	return nil
}

// ValidateSkip returns an error that matches ErrInvalid for an invalid skip or limit.
func ValidateSkip(skip, limit int) error {
	if skip < 0 {
		return fmt.Errorf("%w: skip is %d, want at least 0", ErrInvalid, skip)
	}
	return ValidateLimit(limit)
}

// Claim returns the record for Start: with slot, owner and the next epoch. It does not claim the
// run.
func (r Run) Claim(node string) Run {
	r.Slot, r.Owner = true, node
	r.Epoch++
	return r
}

// ValidateClaim returns an error that matches ErrInvalid if Start's commit for the given record may
// not be stored. prev is the stored record.
func (c *Commit) ValidateClaim(given, prev *Run) error {
	if c.Run.Owner != given.Owner && !c.Run.State.Terminal() || c.Run.Epoch != given.Epoch || c.Expect != prev.Version {
		return invalid(prev, "Start changed owner, epoch or version")
	}
	if err := c.Validate(); err != nil {
		return err
	}
	return c.ValidateNext(prev, true)
}

// The range of RFC 3339's years, in Unix time.
var (
	firstYear     = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	afterLastYear = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// storable reports whether a store keeps the time unchanged: in UTC, without nanoseconds, and with
// a year that RFC 3339 allows.
func storable(t time.Time) bool {
	at := t.Unix()
	return t.Location() == time.UTC && t.Nanosecond()%1000 == 0 && at >= firstYear && at < afterLastYear
}
