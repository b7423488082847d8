// Package decide has the decisions about runs. A decision is a pure function: it gets the run as it
// was read, what is known of the event, and the time, and returns the commit to store. It reads no
// clock, calls no store and no engine, and changes none of its arguments. So a decision can be
// computed again after a lost compare-and-set, and tested without a process.
//
// A command of lifecycle loads the run, calls one of these functions, and stores the commit:
//
//	Submission      a host submits a run
//	Start           a node claims a run
//	Turn            a turn has ended, with this evidence
//	RefusedOutcome  the contract or the store refuses the outcome of a turn
//	Report          an engine reports something during its turn
//	Entries         an engine writes to the journal of its run
//	CountChild      an engine starts a child of its run
//	Reply           somebody answers a question, or votes on it
//	Deadline        a deadline has passed, or a step of a question's wait is due
//	Extend          somebody moves the end of a question's wait
//	Claim           somebody claims an open question
//	Release         somebody gives a claimed question back
//	Reassign        somebody puts an open question to other people
//	Cancel          somebody cancels the run
//	Resume          somebody decides about a held run
//	DroppedTurn     a node has lost one of its own turns
//	LostProcess     a resident process has ended while its run waits
//	Orphan          recovery finds a run of a dead node
//	Continue        a run has waited long enough for its children
//	FamilyDue       a node has done the work that was due for relatives of the run
//
// Read reads the outcome of a turn into the Evidence for Turn, and Fork decides what a fork inherits
// from its source.
//
// Each decision chooses an event of the contract and describes its effects (effects.go). The
// function transition (transition.go) looks up the contract's row, changes the record (record.go),
// and adds the events that the row lists (events.go).
//
// Runs and effects are large, so they are passed by reference. Every error means that nothing of the
// change may be stored. It is a *fsm.Refusal, a *fcmp.SchemaViolation, an error of package
// interaction that describes the refusal to a person, or a *BadArgument.
package decide
