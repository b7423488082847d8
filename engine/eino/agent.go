package eino

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// NewAgent returns an engine of an agent of Eino's agent development kit. newAgent makes the agent,
// and is called for each turn: one agent of Eino must not run twice at one time, as chat model
// agents share state between their runs. Models and tools may be shared.
func NewAgent(newAgent func(context.Context) (adk.Agent, error), cfg Config) (*Engine, error) {
	if newAgent == nil {
		return nil, errors.New("eino: the function that makes the agent is nil")
	}
	return newEngine(cfg, EndsTurn, agent{newAgent}.run)
}

// agent runs turns of an agent.
type agent struct {
	make func(context.Context) (adk.Agent, error)
}

func (a agent) run(ctx context.Context, p *play) (result, error) {
	made, err := a.make(ctx)
	if err != nil {
		return result{}, fmt.Errorf("make the agent: %w", err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: made, CheckPointStore: p.pages})
	var events *adk.AsyncIterator[*adk.AgentEvent]
	if p.open == nil {
		p.past = append(complete(p.past), schema.UserMessage(p.turn.Input()))
		events = runner.Run(ctx, p.past, adk.WithCheckPointID(rootID))
	} else {
		params := &adk.ResumeParams{Targets: map[string]any{p.open.ID: p.data}}
		if events, err = runner.ResumeWithParams(ctx, rootID, params); err != nil {
			return result{}, err
		}
	}
	l := listener{play: p}
	for {
		ev, ok := events.Next()
		if !ok {
			break
		}
		l.hear(ctx, ev) // to the end, even after an error: nobody else takes the agent's events
	}
	return l.result(ctx)
}

// listener takes the events of an agent.
type listener struct {
	*play
	last       string // what the assistant said last; it is final when nothing follows
	output     any
	interrupts []Interrupt
	err        error
}

func (l *listener) hear(ctx context.Context, ev *adk.AgentEvent) {
	if l.err != nil {
		return
	}
	if l.err = ev.Err; l.err != nil {
		return
	}
	if ev.Output != nil {
		if ev.Output.MessageOutput != nil {
			l.err = l.message(ctx, ev.Output.MessageOutput)
		}
		if ev.Output.CustomizedOutput != nil {
			l.output = ev.Output.CustomizedOutput
		}
	}
	if ev.Action != nil && ev.Action.Interrupted != nil {
		l.interrupts = interrupts(ev.Action.Interrupted.InterruptContexts, nil)
	}
}

// message takes what was said. What the assistant says before it calls a tool is told at once;
// anything else waits for what follows, as the last word is not an intermediate message.
func (l *listener) message(ctx context.Context, v *adk.MessageVariant) error {
	m, err := v.GetMessage()
	if err != nil || m == nil {
		return err
	}
	l.past = append(l.past, m)
	if m.Role != schema.Assistant {
		return nil
	}
	l.usage.countMessage(m)
	if err := l.flush(ctx); err != nil {
		return err
	}
	l.last = m.Content
	if len(m.ToolCalls) > 0 {
		return l.flush(ctx)
	}
	return nil
}

// flush tells what was said last as an intermediate message.
func (l *listener) flush(ctx context.Context) error {
	said := l.last
	l.last = ""
	if said == "" {
		return nil
	}
	return l.say(ctx, said)
}

func (l *listener) result(ctx context.Context) (result, error) {
	switch {
	case l.err != nil:
		return result{}, l.err
	case len(l.interrupts) > 0:
		return result{interrupts: l.interrupts}, l.flush(ctx) // it was said before the question
	}
	end := Result{Text: l.last}
	if l.output != nil {
		custom, err := DefaultOutput(l.output)
		if err != nil {
			return result{}, err
		}
		if end.Output = custom.Output; end.Text == "" {
			end.Text = custom.Text
		}
	}
	return result{end: end}, nil
}

// complete leaves out calls of tools that have no result, and results that have no call: a model
// refuses a conversation with either.
func complete(said []*schema.Message) []*schema.Message {
	called, returned := make(map[string]bool), make(map[string]bool)
	for _, m := range said {
		for _, c := range m.ToolCalls {
			called[c.ID] = true
		}
		if m.Role == schema.Tool {
			returned[m.ToolCallID] = true
		}
	}
	whole := make([]*schema.Message, 0, len(said))
	for _, m := range said {
		fits := m.Role != schema.Tool || called[m.ToolCallID]
		for _, c := range m.ToolCalls {
			fits = fits && returned[c.ID]
		}
		if fits {
			whole = append(whole, m)
		}
	}
	return whole
}
