package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
)

// Action is an actor's intended call, as passed to Authorize.
type Action string

// The actions, with the calls of a Client that they stand for.
const (
	ActionSubmit   Action = "submit"   // Submit, GetOrSubmit; Run is the run as it would be stored
	ActionView     Action = "view"     // Get, Pending, History, Inherited, Usage, Wait, Events
	ActionList     Action = "list"     // Runs, SearchRuns, Inbox; once, with the filter in Query or Inbox
	ActionReply    Action = "reply"    // Reply, and Question and ReadFile without ActionView; Question is that one
	ActionCancel   Action = "cancel"   // Cancel
	ActionResume   Action = "resume"   // Resume
	ActionExtend   Action = "extend"   // Extend; Question is the one whose end is moved
	ActionClaim    Action = "claim"    // Claim; Question is the claimed one
	ActionRelease  Action = "release"  // Release; Question is the released one
	ActionReassign Action = "reassign" // Reassign, by a person in the audience; Question is the reassigned question
	// ActionOverrule is Release or Reassign by an actor without that right: another person has claimed
	// the Question, or the actor is not in its audience. Without an Authorize only the host may.
	ActionOverrule Action = "overrule"
	// ActionNote is Note; Question is the one with the note. Without an Authorize only the host and the
	// question's audience may.
	ActionNote Action = "note"
	// ActionRemember is checked after ActionReply if Reply.Remember is set; Question is the same.
	ActionRemember Action = "remember"
	ActionForget   Action = "forget" // Forget
	ActionFork     Action = "fork"   // Fork; Run is the source
	ActionPrune    Action = "prune"  // Prune
	ActionStats    Action = "stats"  // Stats, Nodes
	ActionPool     Action = "pool"   // SetPool; Pool is the new size
	ActionFeed     Action = "feed"   // Feed, CreateFeed, DeleteFeed, Feeds; a feed has the events of all runs
)

// Access is what Authorize decides about. Its pointers are copies, and nil if they do not apply.
type Access struct {
	Actor  Actor
	Action Action
	// Run is as it was just read.
	Run *Run
	// Question is open, or settled for a late reply.
	Question *Question
	// Query is the query of Runs or SearchRuns.
	Query *Query
	// Inbox is the query of Inbox, CountInbox and WatchInbox. To show people only their own questions,
	// compare its For with Actor.
	Inbox *InboxQuery
	// Feed is the name of a feed; empty for Feeds.
	Feed string
	// Pool is the pool as SetPool would store it.
	Pool *Pool
}

// Authorize decides whether an actor may do something: nil allows it. An error refuses it; the
// caller gets a *NotAllowedError with it as the cause. See Config.Authorize.
type Authorize func(ctx context.Context, access Access) error

// ErrNotAllowed: the host's Authorize has refused the call.
var ErrNotAllowed = errors.New("lifecycle: not allowed")

// NotAllowedError says who may not do what, and why.
type NotAllowedError struct {
	Actor  Actor
	Action Action
	RunID  string // empty if the action is about no single run
	Err    error  // what Authorize returned
}

func (e *NotAllowedError) Error() string {
	about := ""
	if e.RunID != "" {
		about = " run " + e.RunID
	}
	return fmt.Sprintf("lifecycle: not allowed: %s may not %s%s: %v", e.Actor, e.Action, about, e.Err)
}

func (e *NotAllowedError) Is(target error) bool { return target == ErrNotAllowed }

func (e *NotAllowedError) Unwrap() error { return e.Err }

// As returns a client that acts for the actor. Authorize receives this actor, and a Reply, Resume
// or At without an Actor gets it; another Actor in them is refused. Make a client for each request:
// the call is cheap, and the client needs no Close.
func (c *Client) As(actor Actor) *Client {
	as := *c
	as.actor = actor
	return &as
}

// resolveActor returns a call's actor, from its argument or the client. If both are set, they must
// be equal, so that a person's input cannot choose the actor.
func (c *Client) resolveActor(argument string, named Actor) (Actor, error) {
	switch {
	case named.IsZero():
		return c.actor, nil
	case c.actor.IsZero() || c.actor.Equal(named):
		return named, nil
	}
	return Actor{}, &ArgumentError{argument, quote(named.ID), "the actor of Client.As, or none", nil}
}

// allow asks Authorize whether the client's actor may perform the action. Every exported method
// that reads or changes runs calls it, or a function below, outside the store's transactions: after
// it has read the run, also again after a lost compare-and-set, and before it commits or returns
// anything.
func (c *Client) allow(ctx context.Context, action Action, run *Run, question *Question) error {
	return c.allowActor(ctx, c.caller(), action, run, question)
}

// caller is the client's actor for a call that no deputy makes.
func (c *Client) caller() Actor { return withoutPrincipal(c.actor) }

// allowActor is allow for a call that names its actor.
func (c *Client) allowActor(ctx context.Context, actor Actor, action Action, run *Run, question *Question) error {
	if c.authorize == nil {
		return nil
	}
	a := Access{Actor: actor, Action: action}
	if run != nil {
		r := *run // a copy: the caller's run stays off the heap without an Authorize
		a.Run = &r
	}
	if question != nil {
		q := *question
		a.Question = &q
	}
	return c.askAuthorize(ctx, &a)
}

func (c *Client) allowInbox(ctx context.Context, query *InboxQuery) error {
	if c.authorize == nil {
		return nil
	}
	q := *query
	return c.askAuthorize(ctx, &Access{Actor: c.caller(), Action: ActionList, Inbox: &q})
}

func (c *Client) allowQuery(ctx context.Context, query *Query) error {
	if c.authorize == nil {
		return nil
	}
	q := *query
	return c.askAuthorize(ctx, &Access{Actor: c.caller(), Action: ActionList, Query: &q})
}

// allowFeed is allow for a feed; name is empty for all feeds.
func (c *Client) allowFeed(ctx context.Context, name string) error {
	if c.authorize == nil {
		return nil
	}
	return c.askAuthorize(ctx, &Access{Actor: c.caller(), Action: ActionFeed, Feed: name})
}

func (c *Client) allowPool(ctx context.Context, p Pool) error {
	if c.authorize == nil {
		return nil
	}
	return c.askAuthorize(ctx, &Access{Actor: c.caller(), Action: ActionPool, Pool: &p})
}

// allowView is allow for a call that does not read the run, or reads it again but asks once.
func (c *Client) allowView(ctx context.Context, id string) error {
	if c.authorize == nil {
		return nil
	}
	run, err := c.proc.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	return c.allow(ctx, ActionView, &run, run.FirstOpen())
}

// askAuthorize calls the host's function on the caller's goroutine: if it hangs, it delays only its
// caller. A panic refuses the call.
func (c *Client) askAuthorize(ctx context.Context, a *Access) (err error) {
	refused := &NotAllowedError{Actor: a.Actor, Action: a.Action}
	if a.Run != nil {
		refused.RunID = a.Run.ID
	}
	defer func() {
		if p := recover(); p != nil {
			text := decide.Shortened(fmt.Sprint(p))
			c.proc.Log.Error("Authorize panicked", "action", a.Action, "run", refused.RunID, "panic", text, "stack",
				string(debug.Stack()))
			refused.Err = errors.New("Authorize panicked") // only the log has the value: callers may be untrusted
			err = refused
		}
	}()
	if refused.Err = c.authorize(ctx, *a); refused.Err != nil {
		return refused
	}
	return nil
}

func questionOf(settled []Record, number int) *Question {
	for i := range settled {
		if settled[i].Question.ID == number {
			return &settled[i].Question
		}
	}
	return nil
}

// check refuses a nil context, and a client that Client.On made without a store.
func (c *Client) check(ctx context.Context) error {
	switch {
	case ctx == nil:
		return &ArgumentError{"ctx", "nil", "a context", nil}
	case c.proc.Store == nil:
		return &ArgumentError{"view", "nil", "a store for Client.On", nil}
	}
	if c.actor.IsZero() {
		return nil
	}
	var fault *FieldError
	if err := c.actor.Validate(); errors.As(err, &fault) {
		return &ArgumentError{"a" + fault.Field[1:], fault.Value, fault.Want, fault}
	}
	return nil
}

func (c *Client) checkRun(ctx context.Context, id string) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if !idPattern.matches(id) {
		return &ArgumentError{"id", quote(id), wantID, ErrNotFound}
	}
	return nil
}

func (c *Client) checkQuestionCall(ctx context.Context, id string, question int) error {
	if err := c.checkRun(ctx, id); err != nil {
		return err
	}
	if question < 1 {
		return &ArgumentError{"question", strconv.Itoa(question), "the number of an open question, from 1", nil}
	}
	return nil
}
