package adk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"google.golang.org/adk/v2/session"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/fsm"
)

// kept is what a turn leaves for the next one: a version of package checkpoint, as JSON.
type kept struct {
	// Open is what the agent waits for; they are answered one after the other, and given to the
	// agent together.
	Open []open `json:"open,omitempty"`
	// State and Events are ADK's session, unless it is in the host's service, under the id Session.
	State   map[string]any   `json:"state,omitempty"`
	Events  []*session.Event `json:"events,omitempty"`
	Session string           `json:"session,omitempty"`
	// Older are the sessions before in the host's service, the latest first.
	Older []string `json:"older,omitempty"`
}

// open is an interrupt and, once it came, its response.
type open struct {
	Interrupt

	// Whole has all of the question's context where the question shows a part.
	Whole    *approval.Document `json:"whole,omitempty"`
	Response map[string]any     `json:"response,omitempty"`
}

// unanswered is the first interrupt that has no response, nil when there is none.
func (k *kept) unanswered() *open {
	for i := range k.Open {
		if k.Open[i].Response == nil {
			return &k.Open[i]
		}
	}
	return nil
}

func readKept(body []byte) (*kept, error) {
	var k kept
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

// fork makes the turn's own session: one that holds what the kept one does.
func (e *Engine) fork(ctx context.Context, t engine.Turn, k *kept) (session.Service, session.Session, error) {
	service, state, events := e.cfg.Sessions, k.State, k.Events
	if service == nil {
		service = session.InMemoryService()
	} else if k.Session != "" {
		before, err := service.Get(ctx, &session.GetRequest{AppName: e.cfg.App, UserID: e.cfg.User,
			SessionID: k.Session})
		if err != nil {
			return nil, nil, resumeFailed(fmt.Errorf("adk: session %s: %w", k.Session, err))
		}
		state, events = own(before.Session.State()), eventsOf(before.Session)
	}
	if err := k.unchanged(events); err != nil {
		return nil, nil, err
	}
	made, err := service.Create(ctx, &session.CreateRequest{
		AppName: e.cfg.App, UserID: e.cfg.User, State: maps.Clone(state),
		SessionID: fmt.Sprintf("%s-%d-%d-%s", t.RunID, t.Attempt, t.Epoch, rand.Text()),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("adk: make the turn's session: %w", err)
	}
	for _, ev := range events {
		if err := service.AppendEvent(ctx, made.Session, ev); err != nil {
			return nil, nil, fmt.Errorf("adk: copy into the turn's session: %w", err)
		}
	}
	return service, made.Session, nil
}

// unchanged reports a call in the session that is not the one that a person was asked about: a
// session service of the host's may have lost or changed it. What is executed is what was seen.
func (k *kept) unchanged(events []*session.Event) error {
	now := make(map[string]Interrupt)
	for _, i := range waiting(events) {
		now[i.ID] = i
	}
	for _, o := range k.Open {
		if i, found := now[o.ID]; !found || approval.JSON(i.Args) != approval.JSON(o.Args) || i.Tool != o.Tool {
			return resumeFailed(
				fmt.Errorf("adk: the call %s of the tool %q is not in the session as it was asked about", o.ID, o.Tool))
		}
	}
	return nil
}

// own is the state that belongs to the session itself.
func own(s session.State) map[string]any {
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

// keep is what the turn's session leaves.
func (e *Engine) keep(ctx context.Context, service session.Service, id string, before *kept) (*kept, error) {
	got, err := service.Get(ctx, &session.GetRequest{AppName: e.cfg.App, UserID: e.cfg.User, SessionID: id})
	if err != nil {
		return nil, fmt.Errorf("adk: read the turn's session: %w", err)
	}
	k := &kept{Open: openOf(waiting(eventsOf(got.Session)))}
	if e.cfg.Sessions != nil {
		k.Session = id
		if before.Session != "" {
			k.Older = append([]string{before.Session}, before.Older...)
			k.Older = k.Older[:min(len(k.Older), keptOlder)]
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

// keptOlder is how many sessions before the one that a run goes on from are named, so that the last
// can be deleted.
const keptOlder = 2

// forget deletes a session of the host's service that nobody comes back to. One that cannot be
// deleted takes up room, and nothing else.
func (e *Engine) forget(ctx context.Context, k *kept) {
	if e.cfg.Sessions == nil || len(k.Older) < keptOlder {
		return
	}
	_ = e.cfg.Sessions.Delete(ctx, &session.DeleteRequest{AppName: e.cfg.App, UserID: e.cfg.User,
		SessionID: k.Older[keptOlder-1]})
}

func openOf(all []Interrupt) []open {
	var list []open
	for _, i := range all {
		list = append(list, open{Interrupt: i})
	}
	return list
}

// errNoAnswer: a turn that goes on from a question was given no answer to it.
var errNoAnswer = errors.New("adk: the session waits for an answer, and the turn has none")
