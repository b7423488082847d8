package lifecycle

import (
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
)

// The types of events: Event.Type. Event.Decode reads an event's data into the struct of its type.
const (
	TypeStarted             = fcmp.TypeStarted
	TypeStateChanged        = fcmp.TypeStateChanged
	TypeInputRequired       = fcmp.TypeInputRequired
	TypeReplyAccepted       = fcmp.TypeReplyAccepted
	TypeAutoDecided         = fcmp.TypeAutoDecided
	TypeMessageIntermediate = fcmp.TypeMessageIntermediate
	TypeMessageFinal        = fcmp.TypeMessageFinal
	TypeWarning             = fcmp.TypeWarning
	TypeYielded             = fcmp.TypeYielded
	TypeBlocked             = fcmp.TypeBlocked
	TypeRecorded            = fcmp.TypeRecorded
	TypeClosed              = fcmp.TypeClosed
	TypeReminder            = fcmp.TypeReminder
	TypeEscalated           = fcmp.TypeEscalated
	TypeDefaultTaken        = fcmp.TypeDefaultTaken
	TypeChanged             = fcmp.TypeChanged
	TypeForgotten           = fcmp.TypeForgotten
	TypeNoted               = fcmp.TypeNoted
	TypeUnblocked           = fcmp.TypeUnblocked
)

// Event is [fcmp.Event]: an event of a run.
type Event = fcmp.Event

// Cursor is [fcmp.Cursor]: a place in a run's log.
type Cursor = fcmp.Cursor

// Meta is [fcmp.Meta]: the place of an event within its attempt.
type Meta = fcmp.Meta

// Started is [fcmp.Started]: the data of TypeStarted.
type Started = fcmp.Started

// ForkedFrom is [fcmp.ForkedFrom]: where a fork begins.
type ForkedFrom = fcmp.ForkedFrom

// StateChanged is [fcmp.StateChanged]: the data of TypeStateChanged.
type StateChanged = fcmp.StateChanged

// Trigger is [fsm.Event]: the cause of a change of state.
type Trigger = fsm.Event

// The values of [Trigger].
const (
	TriggerTurnStarted                  Trigger = fsm.EventTurnStarted
	TriggerTurnNeedsInput               Trigger = fsm.EventTurnNeedsInput
	TriggerTurnSucceeded                Trigger = fsm.EventTurnSucceeded
	TriggerTurnFailed                   Trigger = fsm.EventTurnFailed
	TriggerInteractionReplyAccepted     Trigger = fsm.EventInteractionReplyAccepted
	TriggerInteractionAutoDecideTimeout Trigger = fsm.EventInteractionAutoDecideTimeout
	TriggerInteractionWaitTimeout       Trigger = fsm.EventInteractionWaitTimeout
	TriggerInteractionProcessLost       Trigger = fsm.EventInteractionProcessLost
	TriggerRunCanceled                  Trigger = fsm.EventRunCanceled
	TriggerRestartPreserveWaiting       Trigger = fsm.EventRestartPreserveWaiting
	TriggerRestartReconcileFailed       Trigger = fsm.EventRestartReconcileFailed
	TriggerRestartRequeue               Trigger = fsm.EventRestartRequeue
	TriggerTurnYielded                  Trigger = fsm.EventTurnYielded
	TriggerRunBlocked                   Trigger = fsm.EventRunBlocked
	TriggerRunUnblocked                 Trigger = fsm.EventRunUnblocked
	TriggerRunGivenUp                   Trigger = fsm.EventRunGivenUp
	TriggerInteractionRecorded          Trigger = fsm.EventInteractionRecorded
	TriggerInteractionStep              Trigger = fsm.EventInteractionStep
	TriggerInteractionDefaultTimeout    Trigger = fsm.EventInteractionDefaultTimeout
	TriggerInteractionChanged           Trigger = fsm.EventInteractionChanged
	TriggerInteractionNoted             Trigger = fsm.EventInteractionNoted
)

// Terminal is [fcmp.Terminal]: how a run ended.
type Terminal = fcmp.Terminal

// InputRequired is [fcmp.InputRequired]: the data of TypeInputRequired.
type InputRequired = fcmp.InputRequired

// DeadlineAction is [fsm.DeadlineAction]: what happens at a question's deadline.
type DeadlineAction = fsm.DeadlineAction

// The values of [DeadlineAction].
const (
	DeadlineKeepWaiting DeadlineAction = fsm.DeadlineKeepWaiting
	DeadlineAutoDecide  DeadlineAction = fsm.DeadlineAutoDecide
	DeadlineFail        DeadlineAction = fsm.DeadlineFail
)

// OwnWait is [fcmp.OwnWait]: a question's own wait.
type OwnWait = fcmp.OwnWait

// OwnWaitStep is [fcmp.OwnWaitStep]: a step of an OwnWait.
type OwnWaitStep = fcmp.OwnWaitStep

// AskedTogether is [fcmp.Together]: the questions that were asked together.
type AskedTogether = fcmp.Together

// ReplyAccepted is [fcmp.ReplyAccepted]: the data of TypeReplyAccepted.
type ReplyAccepted = fcmp.ReplyAccepted

// AutoDecided is [fcmp.AutoDecided]: the data of TypeAutoDecided.
type AutoDecided = fcmp.AutoDecided

// DefaultTaken is [fcmp.DefaultTaken]: the data of TypeDefaultTaken.
type DefaultTaken = fcmp.DefaultTaken

// Recorded is [fcmp.Recorded]: the data of TypeRecorded.
type Recorded = fcmp.Recorded

// Closed is [fcmp.Closed]: the data of TypeClosed.
type Closed = fcmp.Closed

// Changed is [fcmp.Changed]: the data of TypeChanged.
type Changed = fcmp.Changed

// Noted is [fcmp.Noted]: the data of TypeNoted.
type Noted = fcmp.Noted

// Forgotten is [fcmp.Forgotten]: the data of TypeForgotten.
type Forgotten = fcmp.Forgotten

// Reminder is [fcmp.Reminder]: the data of TypeReminder.
type Reminder = fcmp.Reminder

// Escalated is [fcmp.Escalated]: the data of TypeEscalated.
type Escalated = fcmp.Escalated

// Yielded is [fcmp.Yielded]: the data of TypeYielded.
type Yielded = fcmp.Yielded

// Blocked is [fcmp.Blocked]: the data of TypeBlocked.
type Blocked = fcmp.Blocked

// Unblocked is [fcmp.Unblocked]: the data of TypeUnblocked.
type Unblocked = fcmp.Unblocked

// MessageIntermediate is [fcmp.MessageIntermediate]: the data of TypeMessageIntermediate.
type MessageIntermediate = fcmp.MessageIntermediate

// MessageFinal is [fcmp.MessageFinal]: the data of TypeMessageFinal.
type MessageFinal = fcmp.MessageFinal

// RawRef is [fcmp.RawRef]: where a text is in the attempt's transcript.
type RawRef = fcmp.RawRef

// Warning is [fcmp.Warning]: the data of TypeWarning.
type Warning = fcmp.Warning
