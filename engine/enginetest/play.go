package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/engine/enginetest/script"
)

// stage is where the agent acts: a separate process or the engine's.
type stage interface {
	say(ctx context.Context, text string) error
	delta(text string)
	final(text string)
	output(body json.RawMessage)
	ask(question string)
	// fail fails the turn; an error also ends it.
	fail(text string) error
	// do performs an effect outside of the agent: it creates a file, or waits for one.
	do(ctx context.Context, name string, effect func(ctx context.Context) error) error
	// act performs a step that only this kind of stage has; ok is false for other steps.
	act(s Step) (ok bool, err error)
}

func play(ctx context.Context, inputs []string, artifacts string, on stage) error {
	for _, s := range Steps(inputs[len(inputs)-1]) {
		if s.Word == "in" {
			artifacts = s.Rest
			continue
		}
		if err := step(ctx, s, inputs, artifacts, on); err != nil {
			return fmt.Errorf("%s: %w", s.Word, err)
		}
	}
	return nil
}

func step(ctx context.Context, s Step, inputs []string, artifacts string, on stage) error {
	switch s.Word {
	case "say":
		return on.say(ctx, s.Rest)
	case "delta":
		on.delta(s.Rest)
	case "final":
		on.final(s.Rest)
	case "done":
		on.final(s.Rest + "\n" + script.DoneMarker + "\n")
	case "ask":
		on.ask(s.Rest)
	case "output":
		on.output(json.RawMessage(s.Rest))
	case "note": // recall returns it
	case "recall":
		on.final(script.Recall(inputs))
	case "fail":
		return on.fail(s.Rest)
	case "touch":
		return on.do(ctx, s.Word, func(context.Context) error { return touch(artifacts, s.Rest, "") })
	case "await":
		return on.do(ctx, s.Word, awaiting(artifacts, s.Rest))
	case "hang":
		return on.do(ctx, s.Word, awaiting(artifacts, "a file that nobody makes"))
	case "flood":
		n, err := strconv.Atoi(s.Rest)
		for i := range n {
			if err := on.say(ctx, "wave "+strconv.Itoa(i)+" "+strings.Repeat("~", 80)); err != nil {
				return err
			}
		}
		return err
	default:
		if ok, err := on.act(s); ok || err != nil {
			return err
		}
		return errors.New("the agent does not know this step")
	}
	return nil
}

func awaiting(dir, name string) func(context.Context) error {
	return func(ctx context.Context) error { return script.AwaitFile(ctx, filepath.Join(dir, name)) }
}

func touch(dir, name, content string) error {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Performance is the result of a script.
type Performance struct {
	Text     string
	Output   json.RawMessage
	Question string // empty if it asked none
}

// Perform performs the steps of a session's last input, for an agent that reports the result in its
// own way; Agent and Main are complete agents. say sends an intermediate message. An error comes
// from a step, or says that the script failed.
func Perform(ctx context.Context, inputs []string, artifacts string, say func(context.Context, string) error) (
	Performance, error,
) {
	return PerformSteps(ctx, inputs, artifacts, say, directly)
}

// PerformSteps is Perform for an agent with a journal: do is called with a name for each effect,
// and returns the effect's error, or why it was not executed.
func PerformSteps(ctx context.Context, inputs []string, artifacts string, say func(context.Context, string) error,
	do func(ctx context.Context, name string, effect func(context.Context) error) error,
) (Performance, error) {
	on := &performer{send: say, effect: do}
	err := play(ctx, inputs, artifacts, on)
	return on.left, err
}

// directly performs an effect without a journal.
func directly(ctx context.Context, _ string, effect func(context.Context) error) error {
	return effect(ctx)
}

type performer struct {
	send   func(context.Context, string) error
	effect func(context.Context, string, func(context.Context) error) error
	left   Performance
}

func (on *performer) say(ctx context.Context, text string) error { return on.send(ctx, text) }
func (on *performer) delta(text string)                          { on.left.Text += text }
func (on *performer) final(text string)                          { on.left.Text = text }
func (on *performer) output(body json.RawMessage)                { on.left.Output = body }
func (on *performer) ask(question string)                        { on.left.Question = question }
func (on *performer) fail(text string) error                     { return errors.New(text) }
func (on *performer) act(s Step) (bool, error)                   { return panics(s) }
func (on *performer) do(ctx context.Context, name string, effect func(context.Context) error) error {
	return on.effect(ctx, name, effect)
}

// panics performs the step that only a function has.
func panics(s Step) (bool, error) {
	if s.Word == "panic" {
		panic(s.Rest)
	}
	return false, nil
}
