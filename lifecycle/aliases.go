// A host imports lifecycle, engine and a store. These are the types of other packages that it needs.

package lifecycle

import (
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Run is [store.Run]: the stored record of a run.
type Run = store.Run

// State is [fsm.State]: the state of a run.
type State = fsm.State

// The values of [State].
const (
	StateQueued      State = fsm.StateQueued
	StateRunning     State = fsm.StateRunning
	StateWaitingUser State = fsm.StateWaitingUser
	StateSucceeded   State = fsm.StateSucceeded
	StateFailed      State = fsm.StateFailed
	StateCanceled    State = fsm.StateCanceled
)

// Mode is [fsm.Mode]: whether a run may ask a person.
type Mode = fsm.Mode

// The values of [Mode].
const (
	Auto        Mode = fsm.ModeAuto
	Interactive Mode = fsm.ModeInteractive
)

// Profile is [fsm.Profile]: how an engine continues after a wait.
type Profile = fsm.Profile

// The values of [Profile].
const (
	ProfileResumable     Profile = fsm.ProfileResumable
	ProfileStickyProcess Profile = fsm.ProfileStickyProcess
)

// Code is [fsm.Code]: the code of an error.
type Code = fsm.Code

// The values of [Code].
const (
	CodeEngineFailed                         Code = fsm.CodeEngineFailed
	CodeEngineUnavailable                    Code = fsm.CodeEngineUnavailable
	CodeTurnTimeout                          Code = fsm.CodeTurnTimeout
	CodeTurnInterrupted                      Code = fsm.CodeTurnInterrupted
	CodeOutputInvalid                        Code = fsm.CodeOutputInvalid
	CodeInteractiveMaxAttemptExceeded        Code = fsm.CodeInteractiveMaxAttemptExceeded
	CodeInteractiveAutoDecisionLimitExceeded Code = fsm.CodeInteractiveAutoDecisionLimitExceeded
	CodeSessionResumeFailed                  Code = fsm.CodeSessionResumeFailed
	CodeInteractionWaitTimeout               Code = fsm.CodeInteractionWaitTimeout
	CodeInteractionProcessLost               Code = fsm.CodeInteractionProcessLost
	CodeOrchestratorRestartInterrupted       Code = fsm.CodeOrchestratorRestartInterrupted
	CodeWorkspaceMissing                     Code = fsm.CodeWorkspaceMissing
	CodeProtocolSchemaViolation              Code = fsm.CodeProtocolSchemaViolation
	CodeRunCanceled                          Code = fsm.CodeRunCanceled
	CodeRunTerminal                          Code = fsm.CodeRunTerminal
	CodeEventNotAllowed                      Code = fsm.CodeEventNotAllowed
	CodeGuardNotMet                          Code = fsm.CodeGuardNotMet
	CodeTurnRepeatLimitExceeded              Code = fsm.CodeTurnRepeatLimitExceeded
	CodeBudgetExhausted                      Code = fsm.CodeBudgetExhausted
)

// WarningCode is [fsm.Warning]: the code of a diagnostic.
type WarningCode = fsm.Warning

// The values of [WarningCode].
const (
	WarnInteractiveCompletedWithoutDoneMarker        WarningCode = fsm.WarnInteractiveCompletedWithoutDoneMarker
	WarnInteractiveSoftCompletionSchemaTooPermissive WarningCode = fsm.WarnInteractiveSoftCompletionSchemaTooPermissive
	WarnAskUserMalformed                             WarningCode = fsm.WarnAskUserMalformed
	WarnAskUserUnknownKind                           WarningCode = fsm.WarnAskUserUnknownKind
	WarnAskUserTruncated                             WarningCode = fsm.WarnAskUserTruncated
	WarnAskUserSurplus                               WarningCode = fsm.WarnAskUserSurplus
	WarnEngineOutputTruncated                        WarningCode = fsm.WarnEngineOutputTruncated
	WarnEngineOutputInvalidUTF8                      WarningCode = fsm.WarnEngineOutputInvalidUTF8
	WarnEngineOutputMalformed                        WarningCode = fsm.WarnEngineOutputMalformed
	WarnEngineDiagnostic                             WarningCode = fsm.WarnEngineDiagnostic
	WarnOrphanReapFailed                             WarningCode = fsm.WarnOrphanReapFailed
	WarnTurnRepeated                                 WarningCode = fsm.WarnTurnRepeated
	WarnOutputRepairRequested                        WarningCode = fsm.WarnOutputRepairRequested
	WarnTurnHandedBack                               WarningCode = fsm.WarnTurnHandedBack
)

// Failure is [store.Failure]: why a run failed or was canceled.
type Failure = store.Failure

// Block is [store.Block]: why a run cannot continue now.
type Block = store.Block

// BlockKind is [store.BlockKind]: the kind of a Block.
type BlockKind = store.BlockKind

// The values of [BlockKind].
const (
	BlockRetry    BlockKind = store.BlockRetry
	BlockSleep    BlockKind = store.BlockSleep
	BlockChildren BlockKind = store.BlockChildren
	BlockHeld     BlockKind = store.BlockHeld
)

// Choice is [store.Choice]: a decision about a held run.
type Choice = store.Choice

// The values of [Choice].
const (
	ChoiceRepeat Choice = store.ChoiceRepeat
	ChoiceRaise  Choice = store.ChoiceRaise
	ChoiceEnd    Choice = store.ChoiceEnd
)

// OnInterrupt is [store.OnInterrupt]: the policy for an interrupted turn.
type OnInterrupt = store.OnInterrupt

// The values of [OnInterrupt].
const (
	Fail   OnInterrupt = store.InterruptFail
	Repeat OnInterrupt = store.InterruptRepeat
	Ask    OnInterrupt = store.InterruptAsk
)

// HoldPolicy is [store.HoldPolicy]: whether a run is held when an operator can repair the fault.
type HoldPolicy = store.HoldPolicy

// The values of [HoldPolicy].
const (
	HoldOff HoldPolicy = store.HoldOff
	HoldOn  HoldPolicy = store.HoldOn
)

// RecoveryState is [store.RecoveryState]: what recovery last did to a run.
type RecoveryState = store.RecoveryState

// The values of [RecoveryState].
const (
	RecoveryNone     RecoveryState = store.RecoveryNone
	RecoveredWaiting RecoveryState = store.RecoveredWaiting
	FailedReconciled RecoveryState = store.FailedReconciled
)

// Retry is [store.Retry]: how a turn that failed for a passing reason is tried again.
type Retry = store.Retry

// Defaults of Spec.MaxRepeats and of a [Retry], and the longest pause that a Retry or an engine may ask
// for.
const (
	DefaultMaxRepeats      = store.DefaultMaxRepeats
	DefaultRetryBackoff    = store.DefaultRetryBackoff
	DefaultRetryMaxBackoff = store.DefaultRetryMaxBackoff
	MaxRetryPause          = store.MaxRetryPause
)

// Budget is [store.Budget]: limits on the usage of a run's turns.
type Budget = store.Budget

// RunBudget is [store.RunBudget]: the budget of a run and its usage so far.
type RunBudget = store.RunBudget

// Usage is [store.Usage]: what turns have used.
type Usage = store.Usage

// TurnUsage is [store.TurnUsage]: the usage of one turn.
type TurnUsage = store.TurnUsage

// ForkPoint is [store.ForkPoint]: the point of another run where a fork begins.
type ForkPoint = store.ForkPoint

// Family is [store.Family]: the parent and the children of a run.
type Family = store.Family

// SessionHandle is [interaction.SessionHandle]: how an engine finds its session again.
type SessionHandle = interaction.SessionHandle

// Question is [interaction.Question]: an agent's question to a person.
type Question = interaction.Question

// Kind is [interaction.Kind]: the kind of a question, which says how to show it.
type Kind = interaction.Kind

// The values of [Kind].
const (
	Approval   Kind = interaction.Approval
	ChooseOne  Kind = interaction.ChooseOne
	Confirm    Kind = interaction.Confirm
	FillFields Kind = interaction.FillFields
	OpenText   Kind = interaction.OpenText
	RiskAck    Kind = interaction.RiskAck
)

// Option is [interaction.Option]: a choice that a question offers.
type Option = interaction.Option

// Selection is [interaction.Selection]: the option that an answer selects.
type Selection = interaction.Selection

// Files is [interaction.Files]: the files and pictures of a question.
type Files = interaction.Files

// File is [interaction.File]: a file of a question.
type File = interaction.File

// Change is [interaction.Change]: the effect of a Subject's call on a file or another text.
type Change = interaction.Change

// ChangeKind is [interaction.ChangeKind]: the kind of a Change.
type ChangeKind = interaction.ChangeKind

// The values of [ChangeKind].
const (
	ChangeCreate ChangeKind = interaction.ChangeCreate
	ChangeEdit   ChangeKind = interaction.ChangeEdit
	ChangeDelete ChangeKind = interaction.ChangeDelete
)

// Subject is [interaction.Subject]: the tool call that an Approval is about.
type Subject = interaction.Subject

// Together is [store.Together]: the questions that one turn asked together.
type Together = store.Together

// Rule is [interaction.Rule]: when a run with several questions continues.
type Rule = interaction.Rule

// Audience is [interaction.Audience]: who may answer a question.
type Audience = interaction.Audience

// AskPolicy is [interaction.AskPolicy]: who may answer the questions of a run, and how long they wait.
type AskPolicy = interaction.AskPolicy

// Policy is [interaction.Policy]: it decides about approvals before people see them.
type Policy = interaction.Policy

// Proposal is [interaction.Proposal]: an approval that a Policy decides about.
type Proposal = interaction.Proposal

// Remember is [interaction.Remember]: it extends an approval to later calls of its run.
type Remember = interaction.Remember

// Limit is [interaction.Limit]: the upper limit of a numeric argument.
type Limit = interaction.Limit

// SameValue is [interaction.SameValue]: it requires an argument to equal the approved one.
type SameValue = interaction.SameValue

// Memory is [interaction.Memory]: a remembered decision of a run.
type Memory = interaction.Memory

// Ruling is [interaction.Ruling]: what a Policy decides.
type Ruling = interaction.Ruling

// MaxNote is interaction.MaxNote: the largest text of a note, in bytes.
const MaxNote = interaction.MaxNote

// Notes is [interaction.Notes]: the notes on a question.
type Notes = interaction.Notes

// Note is [interaction.Note]: a person's note on an open question.
type Note = interaction.Note

// Wait is [interaction.Wait]: how long a question waits, and what follows.
type Wait = interaction.Wait

// WaitStep is [interaction.WaitStep]: a reminder or an escalation of an open question.
type WaitStep = interaction.WaitStep

// StepAction is [interaction.StepAction]: the action of a WaitStep.
type StepAction = interaction.StepAction

// The values of [StepAction].
const (
	Remind   StepAction = interaction.Remind
	Escalate StepAction = interaction.Escalate
)

// Then is [interaction.Then]: what happens at the end of a Wait.
type Then = interaction.Then

// The values of [Then].
const (
	ThenWait    Then = interaction.ThenWait
	ThenFail    Then = interaction.ThenFail
	ThenDecide  Then = interaction.ThenDecide
	ThenDefault Then = interaction.ThenDefault
)

// DefaultReply is [interaction.DefaultReply]: the answer if no one replies in time.
type DefaultReply = interaction.DefaultReply

// DecisionPolicy is [interaction.DecisionPolicy]: how an engine decides without a reply.
type DecisionPolicy = interaction.DecisionPolicy

// The values of [DecisionPolicy].
const (
	EngineJudgement DecisionPolicy = interaction.EngineJudgement
	SafeDefault     DecisionPolicy = interaction.SafeDefault
	Abort           DecisionPolicy = interaction.Abort
)

// Reply is [interaction.Reply]: a person's answer to a question.
type Reply = interaction.Reply

// Actor is [interaction.Actor]: who acts on a run.
type Actor = interaction.Actor

// Principal is [interaction.Principal]: an absent person for whom a deputy may act.
type Principal = interaction.Principal

// Decision is [interaction.Decision]: a decision about an Approval.
type Decision = interaction.Decision

// The values of [Decision].
const (
	Approve Decision = interaction.Approve
	Edit    Decision = interaction.Edit
	Reject  Decision = interaction.Reject
	Respond Decision = interaction.Respond
)

// Vote is [interaction.Vote]: one person's decision about an Approval by several people.
type Vote = interaction.Vote

// Claim is [interaction.Claim]: who works on an open question.
type Claim = interaction.Claim

// Receipt is [interaction.Receipt]: the acknowledgement of a reply.
type Receipt = interaction.Receipt

// Answer is [interaction.Answer]: the answer with which a turn resumes.
type Answer = interaction.Answer

// AutoDecision is [interaction.AutoDecision]: an automatic decision.
type AutoDecision = interaction.AutoDecision

// Record is [interaction.Record]: an entry of a run's history.
type Record = interaction.Record

// Resolution is [interaction.Resolution]: how a question was settled.
type Resolution = interaction.Resolution

// The values of [Resolution].
const (
	UserReply         Resolution = interaction.UserReply
	AutoDecideTimeout Resolution = interaction.AutoDecideTimeout
	DefaultAnswer     Resolution = interaction.DefaultAnswer
	Abandoned         Resolution = interaction.Abandoned
	Superseded        Resolution = interaction.Superseded
)

// FieldError is [interaction.FieldError]: a wrong field, its value and the valid range.
type FieldError = interaction.FieldError

// ValueError is [interaction.ValueError]: the schema violations of a reply's value.
type ValueError = interaction.ValueError

// Fault is [interaction.Fault]: a place in a value that violates its schema.
type Fault = interaction.Fault

// ChangedError is [interaction.ChangedError]: the question has changed since it was shown.
type ChangedError = interaction.ChangedError

// NotAskedError is [interaction.NotAskedError]: the author of a reply may not answer.
type NotAskedError = interaction.NotAskedError

// NotDeputyError is [interaction.NotDeputyError]: the actor may not act for that person now.
type NotDeputyError = interaction.NotDeputyError

// VotedError is [interaction.VotedError]: the author of a reply has voted before.
type VotedError = interaction.VotedError

// ClaimedError is [interaction.ClaimedError]: another person works on the question.
type ClaimedError = interaction.ClaimedError

// ReassignedError is [interaction.ReassignedError]: the question has another audience now.
type ReassignedError = interaction.ReassignedError

// Limits of a [Reply], in bytes.
const (
	MaxReplyText  = interaction.MaxReplyText
	MaxReplyKey   = interaction.MaxKey
	MaxReplyActor = interaction.MaxActor
	MaxPrincipals = interaction.MaxPrincipals
)

// Store is [store.Store]: where runs are kept.
type Store = store.Store

// Query is [store.Query]: filters and the page of a listing.
type Query = store.Query

// Page is [store.Page]: a page of a listing.
type Page = store.Page

// Stats is [store.Survey]: how much work a store has, of all nodes.
type Stats = store.Survey

// PoolSurvey is [store.PoolSurvey]: a pool, its slots in use, and the runs that wait for one.
type PoolSurvey = store.PoolSurvey

// PoolUse is [store.PoolUse]: a pool and its slots in use.
type PoolUse = store.PoolUse

// EngineSurvey is [store.EngineSurvey]: runs that wait for an engine, and nodes that have it.
type EngineSurvey = store.EngineSurvey

// Pool is [slots.Pool]: execution slots that runs share.
type Pool = slots.Pool

// The default [Pool], and limits of pools.
const (
	DefaultPool     = slots.DefaultPool
	DefaultCapacity = slots.DefaultCapacity
	MaxCapacity     = slots.MaxCapacity
	MaxName         = slots.MaxName
)
