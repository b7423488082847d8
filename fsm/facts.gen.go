// Code generated from contract/lifecycle.json 1.0.0; DO NOT EDIT.

package fsm

// Facts is a set of named facts.
type Facts uint32

const (
	// FactSlotHeld: The run holds an execution slot once this commit is made.
	FactSlotHeld Facts = 1 << 0
	// FactInteractive: The run's mode is interactive.
	FactInteractive Facts = 1 << 1
	// FactSticky: The engine's profile is sticky_process.
	FactSticky Facts = 1 << 2
	// FactHandlePresent: A session handle is known and was not refused by the engine.
	FactHandlePresent Facts = 1 << 3
	// FactPendingMatches: The run has a pending question and the command or timer names it.
	FactPendingMatches Facts = 1 << 4
	// FactDeadlinePassed: The pending question's deadline is at or before now.
	FactDeadlinePassed Facts = 1 << 5
	// FactStrict: The run requires a person's reply (interactive_require_user_reply).
	FactStrict Facts = 1 << 6
	// FactAutoDecisionLeft: The limit on automatic decisions is not reached.
	FactAutoDecisionLeft Facts = 1 << 7
	// FactWorkerGone: The worker that executed the turn is dead, fenced off, or leaving.
	FactWorkerGone Facts = 1 << 8
	// FactContextLost: The pending question, the session or the process that the run needs to go on is missing or refused.
	FactContextLost Facts = 1 << 9
	// FactRepeatable: The spec allows an interrupted turn to be executed again.
	FactRepeatable Facts = 1 << 10
	// FactAttemptsExhausted: max_attempt is declared and the current attempt has reached it.
	FactAttemptsExhausted Facts = 1 << 11
	// FactProcessOK: The turn's process ended by itself and reported success.
	FactProcessOK Facts = 1 << 12
	// FactDoneMarker: The assistant's own final text or output carries the done marker.
	FactDoneMarker Facts = 1 << 13
	// FactQuestionAsked: The turn carries a valid explicit question.
	FactQuestionAsked Facts = 1 << 14
	// FactSchemaDeclared: The run declares an output schema.
	FactSchemaDeclared Facts = 1 << 15
	// FactOutputValid: The turn's output parses and passes the declared output schema.
	FactOutputValid Facts = 1 << 16
	// FactSchemaPermissive: The declared output schema accepts every object.
	FactSchemaPermissive Facts = 1 << 17
)
