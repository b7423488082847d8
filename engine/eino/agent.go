package eino

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// NewAgent returns an engine of an agent of Eino's agent development kit. newAgent makes the agent
// and is called for each turn, because chat model agents share state between concurrent runs.
// Models and tools may be shared.
func NewAgent(newAgent func(context.Context) (adk.Agent, error), cfg Config) (*Engine, error) {
	if newAgent == nil {
		return nil, errors.New("eino: the function that makes the agent is nil")
	}
	return newEngine(cfg, true, agent{newAgent}.run)
}

type agent struct {
	make func(context.Context) (adk.Agent, error)
}

func (a agent) run(ctx context.Context, p *activeTurn) (result, error) {
	created, err := a.make(ctx)
	if err != nil {
		return result{}, fmt.Errorf("make the agent: %w", err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: created, CheckPointStore: p.checkpoints})
	var events *adk.AsyncIterator[*adk.AgentEvent]
	if len(p.open) == 0 {
		p.history = append(completeCalls(p.history), schema.UserMessage(p.turn.Input()))
		events = runner.Run(ctx, p.history, adk.WithCheckPointID(rootID))
	} else {
		params := &adk.ResumeParams{Targets: p.data}
		if events, err = runner.ResumeWithParams(ctx, rootID, params); err != nil {
			return result{}, err
		}
	}
	l := listener{activeTurn: p}
	for {
		ev, ok := events.Next()
		if !ok {
			break
		}
		l.handleEvent(ctx, ev) // until the end, even after an error: the agent waits until its events are read
	}
	return l.result(ctx)
}

// listener handles the events of an agent.
type listener struct {
	*activeTurn
	lastText   string // the assistant's last message; the final text if none follows
	output     any
	interrupts []Interrupt
	err        error
}

func (l *listener) handleEvent(ctx context.Context, ev *adk.AgentEvent) {
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

// message handles a message. An assistant's message before a tool call is stored immediately. Any
// other is stored when the next one arrives, because the last one is not an intermediate message.
func (l *listener) message(ctx context.Context, v *adk.MessageVariant) error {
	m, err := v.GetMessage()
	if err != nil || m == nil {
		return err
	}
	l.history = append(l.history, m)
	if m.Role != schema.Assistant {
		return nil
	}
	l.usage.countMessage(m)
	if err := l.flush(ctx); err != nil {
		return err
	}
	l.lastText = m.Content
	if len(m.ToolCalls) > 0 {
		return l.flush(ctx)
	}
	return nil
}

// flush stores the last message as an intermediate one.
func (l *listener) flush(ctx context.Context) error {
	said := l.lastText
	l.lastText = ""
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
		return result{interrupts: l.interrupts}, l.flush(ctx) // a message before the question is not a final text
	}
	end := Result{Text: l.lastText}
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

// completeCalls drops tool calls without a result, and results without a tool call. Models refuse a
// conversation with either.
func completeCalls(said []*schema.Message) []*schema.Message {
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
