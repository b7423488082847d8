package eino

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/interlude-go/interlude/engine"
)

// Compilable is a graph, chain or workflow that is not compiled yet.
type Compilable[I, O any] interface {
	Compile(ctx context.Context, opts ...compose.GraphCompileOption) (compose.Runnable[I, O], error)
}

// GraphConfig configures an engine of a graph.
type GraphConfig[I, O any] struct {
	Config
	// Input makes the graph's input. Nil: DefaultInput; the constructor fails if that cannot make
	// an I.
	Input func(context.Context, Start) (I, error)
	// Output converts the graph's output. Nil: DefaultOutput.
	Output func(context.Context, O) (Result, error)
	// Options are passed to each call of the graph, before the engine's.
	Options []compose.Option
}

// Start is the input of a graph.
type Start struct {
	Turn engine.Turn
	// Text is the run's prompt in its first turn, and the person's answer if the graph is started
	// again (EndsTurn).
	Text string
	// Past is the conversation so far, person and graph in turns, oldest first.
	Past []*schema.Message
}

// Compile compiles the graph with the engine's checkpoint store and returns the engine. It is
// called once, when the host starts. The options are given to the compiler; they must not name
// another checkpoint store.
func Compile[I, O any](ctx context.Context, g Compilable[I, O], cfg GraphConfig[I, O],
	opts ...compose.GraphCompileOption) (*Engine, error) {
	if g == nil {
		return nil, errors.New("eino: the graph is nil")
	}
	compiled, err := g.Compile(ctx, append(append([]compose.GraphCompileOption(nil), opts...),
		compose.WithCheckPointStore(Checkpoints()))...)
	if err != nil {
		return nil, fmt.Errorf("eino: compile: %w", err)
	}
	return New(compiled, cfg)
}

// New returns an engine of a graph that was compiled with
// compose.WithCheckPointStore(eino.Checkpoints()).
func New[I, O any](r compose.Runnable[I, O], cfg GraphConfig[I, O]) (*Engine, error) {
	if r == nil {
		return nil, errors.New("eino: the compiled graph is nil")
	}
	if cfg.Input == nil {
		if _, err := DefaultInput[I](Start{}); err != nil {
			return nil, err
		}
		cfg.Input = func(_ context.Context, s Start) (I, error) { return DefaultInput[I](s) }
	}
	if cfg.Output == nil {
		cfg.Output = func(_ context.Context, out O) (Result, error) { return DefaultOutput(out) }
	}
	g := graph[I, O]{runnable: r, cfg: cfg}
	return newEngine(cfg.Config, false, g.run)
}

// graph runs turns of a compiled graph.
type graph[I, O any] struct {
	runnable compose.Runnable[I, O]
	cfg      GraphConfig[I, O]
}

func (g graph[I, O]) run(ctx context.Context, p *activeTurn) (result, error) {
	opts := append(append([]compose.Option(nil), g.cfg.Options...), compose.WithCallbacks(countUsage(&p.usage),
		p.watchNodes()), compose.WithCheckPointID(rootID))
	start := Start{Turn: p.turn, Text: p.turn.Input(), Past: p.history}
	var in I
	if len(p.open) == 0 {
		var err error
		if in, err = g.cfg.Input(ctx, start); err != nil {
			return result{}, fmt.Errorf("input: %w", err)
		}
		opts = append(opts, compose.WithForceNewRun())
	} else {
		ctx = p.resume(ctx)
	}
	out, err := g.runnable.Invoke(ctx, in, opts...)
	if info, ok := compose.ExtractInterruptInfo(err); ok {
		return result{interrupts: interrupts(info.InterruptContexts, gates(info))}, nil
	}
	if err != nil {
		return result{}, err
	}
	end, err := g.cfg.Output(ctx, out)
	if err != nil {
		return result{}, fmt.Errorf("output: %w", err)
	}
	p.history = append(p.history, schema.UserMessage(start.Text), schema.AssistantMessage(end.Text, nil))
	return result{end: end}, nil
}

// resume marks the answered interrupts. A gate, which is asked separately, is passed without data
// if there is no new state: data would become the state.
func (p *activeTurn) resume(ctx context.Context) context.Context {
	if p.open[0].Gate && p.data[p.open[0].ID] == nil {
		return ctx
	}
	return compose.BatchResumeWithData(ctx, p.data)
}
