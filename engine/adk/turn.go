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

type activeTurn struct {
	turn   engine.Turn
	sink   engine.Sink
	cancel context.CancelCauseFunc

	lastText string // the agent's last message; the final text if none follows
	// The last workflow node's output as text, if it is no JSON object: the final text without a
	// message.
	textOutput string
	output     json.RawMessage // a JSON object, or nil
	usage      engine.Usage
	branches   map[string]string // of agents by name, as the branches of their events
}

type turnKey struct{}

// runAgent runs the agent in a new session of the turn, and returns the session to store.
func (e *Engine) runAgent(ctx context.Context, p *activeTurn, before *savedSession) (*savedSession, error) {
	service, s, decided, err := e.turnSession(ctx, p.turn, before)
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
	cfg.SessionService = service // overrides Runner's: it has the turn's session
	if cfg.PluginConfig.Plugins, err = withOwnIDs(cfg.PluginConfig.Plugins); err != nil {
		return nil, err
	}
	approvals, err := decided.plugin()
	if err != nil {
		return nil, err
	}
	// Last, so that no plugin of the host changes the arguments afterwards.
	cfg.PluginConfig.Plugins = append(cfg.PluginConfig.Plugins, approvals)
	r, err := runner.New(cfg)
	if err != nil {
		return nil, err
	}
	for ev, err := range r.Run(ctx, e.cfg.User, s.ID(), runInput(p.turn, before), e.cfg.Run) {
		if err == nil {
			err = p.handleEvent(ctx, ev)
		}
		if err != nil {
			return nil, err
		}
	}
	after, err := e.snapshot(ctx, service, s.ID(), before)
	if err == nil {
		err = p.checkParallel(root, after.Open)
	}
	if err == nil && len(after.Open) > 0 {
		err = p.flush(ctx) // a message before the question is no final text
	}
	return after, err
}

// handleEvent handles an event of the agent. A message before a tool call is stored at once, any
// other when the next one comes, since the last one is no intermediate message.
func (p *activeTurn) handleEvent(ctx context.Context, ev *session.Event) error {
	if ev == nil || ev.Partial || ev.Author == userAuthor {
		return nil
	}
	if ev.Branch != "" {
		if p.branches == nil {
			p.branches = make(map[string]string)
		}
		p.branches[ev.Author] = ev.Branch
	}
	if u := ev.UsageMetadata; u != nil {
		p.usage.InputTokens += int64(u.PromptTokenCount)
		p.usage.OutputTokens += int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount)
	}
	if ev.ErrorCode != "" && ev.Content == nil {
		return fmt.Errorf("the model failed: %s: %s", ev.ErrorCode, ev.ErrorMessage)
	}
	if ev.Output != nil {
		if err := p.setOutput(ev.Output); err != nil {
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
		p.lastText = said
	}
	if calls {
		return p.flush(ctx)
	}
	return nil
}

func (p *activeTurn) setOutput(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("the output is not JSON: %w", err)
	}
	p.textOutput, p.output = "", nil
	switch text, isText := v.(string); {
	case isText:
		p.textOutput = text
	case bytes.HasPrefix(body, []byte("{")):
		p.output = body
	default:
		p.textOutput = string(body)
	}
	return nil
}

func (p *activeTurn) text() string {
	if p.lastText == "" {
		return p.textOutput
	}
	return p.lastText
}

func (p *activeTurn) flush(ctx context.Context) error {
	said := p.lastText
	p.lastText = ""
	if strings.TrimSpace(said) == "" {
		return nil
	}
	return p.say(ctx, said)
}

// say stores an intermediate message. If the run no longer belongs to this attempt, it cancels the
// turn, even if the caller ignores the error.
func (p *activeTurn) say(ctx context.Context, text string) error {
	err := p.sink.Message(ctx, engine.Message{Text: text})
	if errors.Is(err, engine.ErrStale) {
		p.cancel(err)
	}
	return err
}

// Say stores an intermediate message of the assistant. Call it within a tool or node, with the
// call's context. A tool that gets an error should return it: the run no longer belongs to this
// attempt (engine.ErrStale), or the store has failed.
func Say(ctx context.Context, text string) error {
	p, ok := ctx.Value(turnKey{}).(*activeTurn)
	if !ok {
		return errors.New("adk: this context belongs to no turn: pass on the one that the tool was given")
	}
	return p.say(ctx, text)
}

// Turn returns the turn in which a tool or node runs, for example for its folders; ctx is the
// call's context. False: outside of a turn.
func Turn(ctx context.Context) (engine.Turn, bool) {
	p, ok := ctx.Value(turnKey{}).(*activeTurn)
	if !ok {
		return engine.Turn{}, false
	}
	return p.turn, true
}
