package adk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/interlude-go/interlude/engine"
)

// play is a turn under way.
type play struct {
	turn   engine.Turn
	sink   engine.Sink
	cancel context.CancelCauseFunc

	last string // what the agent said last; it is final when nothing follows
	// what the last node of a workflow put out, when it is no object; final when nothing was said
	put    string
	output json.RawMessage // what it put out when it is one
	usage  engine.Usage
}

type turnKey struct{}

// play runs the agent in a session of the turn's own, and returns what that leaves.
func (e *Engine) play(ctx context.Context, p *play, before *kept) (*kept, error) {
	service, s, err := e.fork(ctx, p.turn, before)
	if err != nil {
		return nil, err
	}
	root, err := e.newAgent(ctx)
	if err != nil {
		return nil, fmt.Errorf("make the agent: %w", err)
	}
	cfg := runner.Config{AppName: e.cfg.App, Agent: root}
	if e.cfg.Runner != nil {
		e.cfg.Runner(&cfg)
	}
	cfg.SessionService = service // whatever else was set: the turn's session is there
	if cfg.PluginConfig.Plugins, err = withOwnIDs(cfg.PluginConfig.Plugins); err != nil {
		return nil, err
	}
	r, err := runner.New(cfg)
	if err != nil {
		return nil, err
	}
	for ev, err := range r.Run(ctx, e.cfg.User, s.ID(), message(p.turn, before), e.cfg.Run) {
		if err == nil {
			err = p.hear(ctx, ev)
		}
		if err != nil {
			return nil, err
		}
	}
	after, err := e.keep(ctx, service, s.ID(), before)
	if err == nil && len(after.Open) > 0 {
		err = p.flush(ctx) // it was said before the question
	}
	return after, err
}

// hear takes an event of the agent. What is said before a tool is called is told at once; anything
// else waits for what follows, as the last word is not an intermediate message.
func (p *play) hear(ctx context.Context, ev *session.Event) error {
	if ev == nil || ev.Partial || ev.Author == userAuthor {
		return nil
	}
	if u := ev.UsageMetadata; u != nil {
		p.usage.InputTokens += int64(u.PromptTokenCount)
		p.usage.OutputTokens += int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount)
	}
	if ev.ErrorCode != "" && ev.Content == nil {
		return fmt.Errorf("the model failed: %s: %s", ev.ErrorCode, ev.ErrorMessage)
	}
	if ev.Output != nil {
		if err := p.take(ev.Output); err != nil {
			return err
		}
	}
	said, calls := "", false
	for _, part := range parts(ev) {
		if !part.Thought {
			said += part.Text
		}
		calls = calls || part.FunctionCall != nil
	}
	if said != "" {
		if err := p.flush(ctx); err != nil {
			return err
		}
		p.last = said
	}
	if calls {
		return p.flush(ctx)
	}
	return nil
}

// take keeps what a node puts out.
func (p *play) take(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("the output is no JSON: %w", err)
	}
	p.put, p.output = "", nil
	switch text, isText := v.(string); {
	case isText:
		p.put = text
	case bytes.HasPrefix(body, []byte("{")):
		p.output = body
	default:
		p.put = string(body)
	}
	return nil
}

// text is the final text.
func (p *play) text() string {
	if p.last == "" {
		return p.put
	}
	return p.last
}

// flush tells what was said last as an intermediate message.
func (p *play) flush(ctx context.Context) error {
	said := p.last
	p.last = ""
	if strings.TrimSpace(said) == "" {
		return nil
	}
	return p.say(ctx, said)
}

// say tells an intermediate message. A turn that is no longer its run's is ended at once, even if
// whoever speaks does not listen.
func (p *play) say(ctx context.Context, text string) error {
	err := p.sink.Message(ctx, engine.Message{Text: text})
	if errors.Is(err, engine.ErrStale) {
		p.cancel(err)
	}
	return err
}

// Say tells an intermediate message of the assistant, from within a tool or node; ctx is the one
// that it was given. A tool that gets an error should return it: the turn is no longer the run's
// (engine.ErrStale), or the store is out of order.
func Say(ctx context.Context, text string) error {
	p, ok := ctx.Value(turnKey{}).(*play)
	if !ok {
		return errors.New("adk: this context belongs to no turn: pass on the one that the tool was given")
	}
	return p.say(ctx, text)
}

// Turn returns the turn that a tool or node runs in, as for its folders; ctx is the one that it was
// given. False: it belongs to none.
func Turn(ctx context.Context) (engine.Turn, bool) {
	p, ok := ctx.Value(turnKey{}).(*play)
	if !ok {
		return engine.Turn{}, false
	}
	return p.turn, true
}
