// The author of an engine imports engine. These are the types of other packages that it needs.

package engine

import (
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Question is [interaction.Question]: a question of an agent to people.
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

// Rule is [interaction.Rule]: when a run with several questions continues.
type Rule = interaction.Rule

// Subject is [interaction.Subject]: the tool call that an Approval is about.
type Subject = interaction.Subject

// Audience is [interaction.Audience]: who may answer a question.
type Audience = interaction.Audience

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

// DefaultReply is [interaction.DefaultReply]: the answer at the end of a wait without a reply.
type DefaultReply = interaction.DefaultReply

// Decision is [interaction.Decision]: a decision about an Approval.
type Decision = interaction.Decision

// The values of [Decision].
const (
	Approve Decision = interaction.Approve
	Edit    Decision = interaction.Edit
	Reject  Decision = interaction.Reject
	Respond Decision = interaction.Respond
)

// DecisionPolicy is [interaction.DecisionPolicy]: how an engine decides without a reply.
type DecisionPolicy = interaction.DecisionPolicy

// The values of [DecisionPolicy].
const (
	EngineJudgement DecisionPolicy = interaction.EngineJudgement
	SafeDefault     DecisionPolicy = interaction.SafeDefault
	Abort           DecisionPolicy = interaction.Abort
)

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

// Answer is [interaction.Answer]: the input with which a turn resumes.
type Answer = interaction.Answer

// NotApprovedError is [interaction.NotApprovedError]: the answer, and whether the call has changed.
type NotApprovedError = interaction.NotApprovedError

// Vote is [interaction.Vote]: one person's decision about an Approval that several people decide.
type Vote = interaction.Vote

// Claim is [interaction.Claim]: who works on an open question.
type Claim = interaction.Claim

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

// AutoDecision is [interaction.AutoDecision]: an automatic decision.
type AutoDecision = interaction.AutoDecision

// Record is [interaction.Record]: an entry of a run's history.
type Record = interaction.Record

// SessionHandle is [interaction.SessionHandle]: how an engine finds its session again.
type SessionHandle = interaction.SessionHandle

// JournalEntry is [interaction.JournalEntry]: an entry of a run's journal.
type JournalEntry = interaction.JournalEntry

// Diagnostic is [interaction.Diagnostic]: a warning of an engine.
type Diagnostic = interaction.Diagnostic

// Mode is [fsm.Mode]: whether a run may ask a person.
type Mode = fsm.Mode

// The values of [Mode].
const (
	Auto        Mode = fsm.ModeAuto
	Interactive Mode = fsm.ModeInteractive
)

// ProfileKind is [fsm.Profile]: how an engine continues after a wait.
type ProfileKind = fsm.Profile

// The values of [ProfileKind].
const (
	Resumable     ProfileKind = fsm.ProfileResumable
	StickyProcess ProfileKind = fsm.ProfileStickyProcess
)

// Code is [fsm.Code]: the code of an error.
type Code = fsm.Code

// The values of [Code] that engines use. Package lifecycle has all.
const (
	CodeEngineFailed           Code = fsm.CodeEngineFailed
	CodeEngineUnavailable      Code = fsm.CodeEngineUnavailable
	CodeTurnTimeout            Code = fsm.CodeTurnTimeout
	CodeTurnInterrupted        Code = fsm.CodeTurnInterrupted
	CodeOutputInvalid          Code = fsm.CodeOutputInvalid
	CodeSessionResumeFailed    Code = fsm.CodeSessionResumeFailed
	CodeInteractionProcessLost Code = fsm.CodeInteractionProcessLost
)

// WarningCode is [fsm.Warning]: the code of a diagnostic.
type WarningCode = fsm.Warning

// The values of [WarningCode] that engines use. Package lifecycle has all.
const (
	WarnEngineOutputTruncated   WarningCode = fsm.WarnEngineOutputTruncated
	WarnEngineOutputInvalidUTF8 WarningCode = fsm.WarnEngineOutputInvalidUTF8
	WarnEngineOutputMalformed   WarningCode = fsm.WarnEngineOutputMalformed
	WarnEngineDiagnostic        WarningCode = fsm.WarnEngineDiagnostic
)

// Limits of an engine's results, in bytes or entries. The excess is cut, with a warning; an
// oversized session handle fails the run, because the wait could not be resumed.
const (
	MaxSessionHandle  = interaction.MaxSessionHandle
	MaxJournalWord    = interaction.MaxJournalWord
	MaxJournalBody    = interaction.MaxJournalBody
	MaxJournalEntries = interaction.MaxJournalEntries
	MaxJournalSize    = interaction.MaxJournalSize
	MaxOutput         = interaction.MaxOutput
	MaxQuestions      = interaction.MaxQuestions
	MaxRef            = interaction.MaxRef
	MaxTogether       = interaction.MaxTogether
	MaxPromptText     = interaction.MaxPromptText
	MaxContext        = interaction.MaxContext
	MaxOptions        = interaction.MaxOptions
	MaxLabel          = interaction.MaxLabel
	MaxRequiredFields = interaction.MaxRequiredFields
	MaxUIHints        = interaction.MaxUIHints
)
