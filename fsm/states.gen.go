// Code generated from contract/lifecycle.json 1.0.0; DO NOT EDIT.

package fsm

// State is where a run stands.
type State string

const (
	// StateQueued: Ready to execute: fresh, or with an answer for its next turn.
	StateQueued State = "queued"
	// StateRunning: A worker executes one turn under a lease and a fencing epoch.
	StateRunning State = "running"
	// StateWaitingUser: Parked with one open question.
	StateWaitingUser State = "waiting_user"
	// StateSucceeded: Finished with its output.
	StateSucceeded State = "succeeded"
	// StateFailed: Finished with an error code and a message.
	StateFailed State = "failed"
	// StateCanceled: Ended by somebody's wish.
	StateCanceled State = "canceled"
)

// Mode says whether a run may ask a person.
type Mode string

const (
	// ModeAuto: The agent decides everything by itself; the run never waits for a person.
	ModeAuto Mode = "auto"
	// ModeInteractive: A turn may end with a question; the run then waits for a person.
	ModeInteractive Mode = "interactive"
)

// Profile says how an engine continues after a wait.
type Profile string

const (
	// ProfileResumable: A new process continues the session from its handle; nothing is held while the run waits.
	ProfileResumable Profile = "resumable"
	// ProfileStickyProcess: Only the living process can continue; it and its slot are held while the run waits.
	ProfileStickyProcess Profile = "sticky_process"
)

// Terminal reports whether the state absorbs every event.
func (s State) Terminal() bool {
	return s == StateSucceeded || s == StateFailed || s == StateCanceled
}
