// Code generated from contract/lifecycle.json 1.0.0; DO NOT EDIT.

package fsm

// Event is a cause of a change of state.
type Event string

const (
	// EventTurnStarted: A worker claimed the run and starts its next attempt.
	EventTurnStarted Event = "turn.started"
	// EventTurnNeedsInput: The finished turn asks a person.
	EventTurnNeedsInput Event = "turn.needs_input"
	// EventTurnSucceeded: The finished turn completes the run.
	EventTurnSucceeded Event = "turn.succeeded"
	// EventTurnFailed: The finished turn ends the run in failure.
	EventTurnFailed Event = "turn.failed"
	// EventInteractionReplyAccepted: A person's reply to the pending question was accepted.
	EventInteractionReplyAccepted Event = "interaction.reply.accepted"
	// EventInteractionAutoDecideTimeout: Nobody replied in time; the engine is told to decide.
	EventInteractionAutoDecideTimeout Event = "interaction.auto_decide.timeout"
	// EventInteractionWaitTimeout: Nobody replied in time and nothing may decide instead.
	EventInteractionWaitTimeout Event = "interaction.wait.timeout"
	// EventInteractionProcessLost: The resident process of a waiting run died.
	EventInteractionProcessLost Event = "interaction.process.lost"
	// EventRunCanceled: Somebody canceled the run.
	EventRunCanceled Event = "run.canceled"
	// EventRestartPreserveWaiting: Recovery found a parked run whose context is intact.
	EventRestartPreserveWaiting Event = "restart.preserve_waiting"
	// EventRestartReconcileFailed: Recovery found a run whose context is lost.
	EventRestartReconcileFailed Event = "restart.reconcile_failed"
	// EventRestartRequeue: Recovery, or a shutdown, returns an interrupted turn that may be repeated.
	EventRestartRequeue Event = "restart.requeue"
)

// Code names an error.
type Code string

const (
	// CodeEngineFailed: The agent's process failed.
	CodeEngineFailed Code = "ENGINE_FAILED"
	// CodeEngineUnavailable: The engine is not configured here or its program cannot be started.
	CodeEngineUnavailable Code = "ENGINE_UNAVAILABLE"
	// CodeTurnTimeout: The turn exceeded its time limit.
	CodeTurnTimeout Code = "TURN_TIMEOUT"
	// CodeTurnInterrupted: The turn was interrupted from outside.
	CodeTurnInterrupted Code = "TURN_INTERRUPTED"
	// CodeOutputInvalid: The output does not parse or fails the output schema.
	CodeOutputInvalid Code = "OUTPUT_INVALID"
	// CodeInteractiveMaxAttemptExceeded: max_attempt reached without completion.
	CodeInteractiveMaxAttemptExceeded Code = "INTERACTIVE_MAX_ATTEMPT_EXCEEDED"
	// CodeInteractiveAutoDecisionLimitExceeded: The limit on automatic decisions is reached and nobody replied.
	CodeInteractiveAutoDecisionLimitExceeded Code = "INTERACTIVE_AUTO_DECISION_LIMIT_EXCEEDED"
	// CodeSessionResumeFailed: The session cannot be resumed.
	CodeSessionResumeFailed Code = "SESSION_RESUME_FAILED"
	// CodeInteractionWaitTimeout: Nobody replied before the deadline of a held process.
	CodeInteractionWaitTimeout Code = "INTERACTION_WAIT_TIMEOUT"
	// CodeInteractionProcessLost: The resident process of the run is gone.
	CodeInteractionProcessLost Code = "INTERACTION_PROCESS_LOST"
	// CodeOrchestratorRestartInterrupted: The worker died or left while the turn was executing.
	CodeOrchestratorRestartInterrupted Code = "ORCHESTRATOR_RESTART_INTERRUPTED"
	// CodeWorkspaceMissing: The run's folder does not exist and cannot be made.
	CodeWorkspaceMissing Code = "WORKSPACE_MISSING"
	// CodeProtocolSchemaViolation: An event's payload failed its schema; nothing of that commit was stored.
	CodeProtocolSchemaViolation Code = "PROTOCOL_SCHEMA_VIOLATION"
	// CodeRunCanceled: Somebody canceled the run.
	CodeRunCanceled Code = "RUN_CANCELED"
	// CodeRunTerminal: The run has ended; nothing can happen to it.
	CodeRunTerminal Code = "RUN_TERMINAL"
	// CodeEventNotAllowed: The run's state does not allow the event.
	CodeEventNotAllowed Code = "EVENT_NOT_ALLOWED"
	// CodeGuardNotMet: The state allows the event, but the facts do not.
	CodeGuardNotMet Code = "GUARD_NOT_MET"
)

// Warning names a diagnostic.
type Warning string

const (
	// WarnInteractiveCompletedWithoutDoneMarker: Completed by valid output alone.
	WarnInteractiveCompletedWithoutDoneMarker Warning = "INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER"
	// WarnInteractiveSoftCompletionSchemaTooPermissive: The output schema that completed the run accepts everything.
	WarnInteractiveSoftCompletionSchemaTooPermissive Warning = "INTERACTIVE_SOFT_COMPLETION_SCHEMA_TOO_PERMISSIVE"
	// WarnAskUserMalformed: A question could not be read; a baseline question was asked instead.
	WarnAskUserMalformed Warning = "ASK_USER_MALFORMED"
	// WarnAskUserUnknownKind: A question's kind is unknown; it was asked as open_text.
	WarnAskUserUnknownKind Warning = "ASK_USER_UNKNOWN_KIND"
	// WarnAskUserTruncated: A question exceeded a limit; it was cut or replaced.
	WarnAskUserTruncated Warning = "ASK_USER_TRUNCATED"
	// WarnAskUserSurplus: The turn asked several questions; only the first was put.
	WarnAskUserSurplus Warning = "ASK_USER_SURPLUS"
	// WarnEngineOutputTruncated: The agent's output exceeded a limit and was cut.
	WarnEngineOutputTruncated Warning = "ENGINE_OUTPUT_TRUNCATED"
	// WarnEngineOutputInvalidUTF8: The agent's output had invalid UTF-8; it was replaced.
	WarnEngineOutputInvalidUTF8 Warning = "ENGINE_OUTPUT_INVALID_UTF8"
	// WarnEngineOutputMalformed: A line of the agent's output could not be read.
	WarnEngineOutputMalformed Warning = "ENGINE_OUTPUT_MALFORMED"
	// WarnEngineDiagnostic: The engine reported something worth knowing.
	WarnEngineDiagnostic Warning = "ENGINE_DIAGNOSTIC"
	// WarnOrphanReapFailed: A process left by a dead worker could not be ended.
	WarnOrphanReapFailed Warning = "ORPHAN_REAP_FAILED"
	// WarnTurnRepeated: An interrupted turn will be executed again.
	WarnTurnRepeated Warning = "TURN_REPEATED"
)
