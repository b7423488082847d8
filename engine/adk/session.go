package adk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/adk/v2/session"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// savedSession is the session for the next turn: a version of package checkpoint, as JSON.
type savedSession struct {
	// Open are the calls that wait for responses. The agent gets all responses together, even if
	// they were answered in several turns.
	Open []pendingCall `json:"open,omitempty"`
	// State and Events are ADK's session, unless it is in the host's service, under the id Session.
	State   map[string]any   `json:"state,omitempty"`
	Events  []*session.Event `json:"events,omitempty"`
	Session string           `json:"session,omitempty"`
	// Older are the earlier sessions in the host's service, the latest first.
	Older []string `json:"older,omitempty"`
}

type pendingCall struct {
	Interrupt

	// Document has the question's complete context if the question shows only a part.
	Document *approval.Document `json:"whole,omitempty"`
	Response map[string]any     `json:"response,omitempty"`
	// Decided is a decision about the call that is not a text.
	Decided *decision `json:"decided,omitempty"`
	// Need is added to the question after an unclear answer.
	Need string `json:"need,omitempty"`
}

func (o *pendingCall) asked() interaction.Question {
	q := o.Question
	if o.Need != "" {
		q.Prompt += "\n" + o.Need
	}
	q, _ = interaction.Normalize(q)
	return q
}

func (o *pendingCall) anotherCall() error {
	return resumeFailed(fmt.Errorf("adk: the call %s of the tool %q is not the one that was approved", o.ID, o.Tool))
}

func (k *savedSession) waits() bool {
	return slices.ContainsFunc(k.Open, func(o pendingCall) bool { return o.Response == nil })
}

// callOf returns the unanswered call of an answer. It is found by its Ref, never by its position. A
// question without a Ref is about the first such call.
func (k *savedSession) callOf(a engine.Answer) (*pendingCall, error) {
	for i := range k.Open {
		if o := &k.Open[i]; o.Response == nil && o.Question.Ref == a.Ref {
			return o, nil
		}
	}
	return nil, resumeFailed(fmt.Errorf("adk: the answer to question %d is about no call that waits", a.ID))
}

func readSession(body []byte) (*savedSession, error) {
	var k savedSession
	if body == nil {
		return &k, nil
	}
	err := json.Unmarshal(body, &k)
	if err == nil {
		err = k.restore(body)
	}
	if err != nil {
		return nil, resumeFailed(fmt.Errorf("adk: read session: %w", err))
	}
	return &k, nil
}

func resumeFailed(err error) error {
	return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the session cannot be resumed", Err: err}
}

// turnSession creates the turn's session, with the saved events and state, and the edited
// arguments. The decisions are those about pending calls.
func (e *Engine) turnSession(ctx context.Context, t engine.Turn, k *savedSession) (session.Service,
	session.Session, decisions, error,
) {
	service, state, events := e.cfg.Sessions, k.State, k.Events
	if service == nil {
		service = session.InMemoryService()
	} else if k.Session != "" {
		var err error
		if state, events, err = e.readService(ctx, k.Session); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := k.unchanged(events); err != nil {
		return nil, nil, nil, err
	}
	events, decided, err := k.apply(events)
	if err != nil {
		return nil, nil, nil, err
	}
	created, err := e.createSession(ctx, service, t, state, events)
	if err != nil {
		return nil, nil, nil, err
	}
	return service, created, decided, nil
}

func (e *Engine) readService(ctx context.Context, id string) (map[string]any, []*session.Event, error) {
	before, err := e.cfg.Sessions.Get(ctx, &session.GetRequest{AppName: e.cfg.App, UserID: e.cfg.User, SessionID: id})
	if err != nil {
		return nil, nil, resumeFailed(fmt.Errorf("adk: session %s: %w", id, err))
	}
	return sessionOnlyState(before.Session.State()), eventsOf(before.Session), nil
}

func (e *Engine) createSession(ctx context.Context, service session.Service, t engine.Turn, state map[string]any,
	events []*session.Event) (session.Session, error) {
	created, err := service.Create(ctx, &session.CreateRequest{
		AppName: e.cfg.App, UserID: e.cfg.User, State: maps.Clone(state),
		SessionID: fmt.Sprintf("%s-%d-%d-%s", t.RunID, t.Attempt, t.Epoch, rand.Text()),
	})
	if err != nil {
		return nil, fmt.Errorf("adk: make the turn's session: %w", err)
	}
	for _, ev := range events {
		if err := service.AppendEvent(ctx, created.Session, ev); err != nil {
			return nil, fmt.Errorf("adk: copy into the turn's session: %w", err)
		}
	}
	return created.Session, nil
}

// copySession replaces the saved session by a copy in the host's service, without older sessions,
// which the other run deletes.
func (e *Engine) copySession(ctx context.Context, t engine.Turn, k *savedSession) error {
	state, events, err := e.readService(ctx, k.Session)
	if err != nil {
		return err
	}
	copied, err := e.createSession(ctx, e.cfg.Sessions, t, state, events)
	if err != nil {
		return err
	}
	k.Session, k.Older = copied.ID(), nil
	return nil
}

// unchanged returns an error if a pending call in the session differs from the shown one: the
// host's session service may have lost or changed it, and only the shown call may be executed.
func (k *savedSession) unchanged(events []*session.Event) error {
	now := make(map[string]Interrupt)
	for _, i := range waiting(events) {
		now[i.ID] = i
	}
	for _, o := range k.Open {
		if i, found := now[o.ID]; !found || approval.JSON(i.Args) != approval.JSON(o.Args) || i.Tool != o.Tool {
			return resumeFailed(
				fmt.Errorf("adk: the session has no call %s of the tool %q with the arguments that were asked about",
					o.ID, o.Tool))
		}
	}
	return nil
}

func sessionOnlyState(s session.State) map[string]any {
	state := make(map[string]any)
	for key, v := range s.All() {
		if !strings.HasPrefix(key, session.KeyPrefixApp) && !strings.HasPrefix(key, session.KeyPrefixUser) &&
			!strings.HasPrefix(key, session.KeyPrefixTemp) {
			state[key] = v
		}
	}
	return state
}

func eventsOf(s session.Session) []*session.Event {
	events := make([]*session.Event, 0, s.Events().Len())
	for ev := range s.Events().All() {
		events = append(events, ev)
	}
	return events
}

// snapshot reads the turn's session after the agent has run.
func (e *Engine) snapshot(ctx context.Context, service session.Service, id string, before *savedSession) (*savedSession,
	error) {
	got, err := service.Get(ctx, &session.GetRequest{AppName: e.cfg.App, UserID: e.cfg.User, SessionID: id})
	if err != nil {
		return nil, fmt.Errorf("adk: read the turn's session: %w", err)
	}
	k := &savedSession{Open: pendingCalls(waiting(eventsOf(got.Session)))}
	if e.cfg.Sessions != nil {
		k.Session = id
		if before.Session != "" {
			k.Older = append([]string{before.Session}, before.Older...)
			k.Older = k.Older[:min(len(k.Older), maxOlder)]
		}
		return k, nil
	}
	k.Events, k.State = eventsOf(got.Session), make(map[string]any)
	for key, v := range got.Session.State().All() {
		if !strings.HasPrefix(key, session.KeyPrefixTemp) {
			k.State[key] = v
		}
	}
	return k, nil
}

// maxOlder is how many earlier sessions are named. The next turn deletes the oldest.
const maxOlder = 2

// deleteOldSession deletes the oldest session in the host's service, which no turn resumes. Errors
// are ignored: a leftover session does no harm.
func (e *Engine) deleteOldSession(ctx context.Context, k *savedSession) {
	if e.cfg.Sessions == nil || len(k.Older) < maxOlder {
		return
	}
	_ = e.cfg.Sessions.Delete(ctx, &session.DeleteRequest{AppName: e.cfg.App, UserID: e.cfg.User,
		SessionID: k.Older[maxOlder-1]})
}

func pendingCalls(all []Interrupt) []pendingCall {
	var list []pendingCall
	for _, i := range all {
		list = append(list, pendingCall{Interrupt: i})
	}
	return list
}

var errNoAnswer = errors.New("adk: the session waits for an answer, and the turn has none")
