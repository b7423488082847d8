// Package decide has the decisions about runs. A decision is a pure function of the stored run, the
// event's facts and the time, and returns the commit to store. It does not change its arguments. It
// can be repeated after a lost compare-and-set, and tested without a process.
//
// A command of lifecycle loads the run, calls one of these functions, and stores the commit:
//
//	Submission      a host submits a run
//	Start           a node claims a run
//	Turn            a turn has ended, with this evidence
//	RefusedOutcome  the contract or the store refuses the outcome of a turn
//	Report          an engine reports events during its turn
//	Entries         an engine writes to the journal of its run
//	CountChild      an engine starts a child of its run
//	Reply           a person answers a question, or votes on it
//	Rule            the host's policy decides about a question
//	Deadline        a deadline has passed, or a step of a question's wait is due
//	Extend          a person moves the end of a question's wait
//	Claim           a person claims an open question
//	Release         a person releases a claimed question
//	Reassign        a person reassigns an open question
//	Cancel          a person cancels the run
//	Resume          an operator decides about a held run
//	DroppedTurn     a node has lost its turn
//	LostProcess     a resident process has ended while its run waits
//	Orphan          recovery finds a run of a dead node
//	Continue        a run has waited long enough for its children
//	FamilyDue       a node has processed the due relatives of the run
//
// Read converts the outcome of a turn to the Evidence for Turn, and Fork decides the inheritance of
// a fork.
//
// Each decision chooses an event of the contract and describes its effects (effects.go). transition
// (transition.go) looks up the contract's row, changes the record (record.go), and adds the row's
// events (events.go).
//
// Runs and effects are large, so they are passed by reference. After an error nothing may be
// stored. It is a *fsm.Refusal, a *fcmp.SchemaViolation, an error of package interaction for a
// person, or a *BadArgument.
package decide
