package adk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/interaction"
)

// ending is how a script ends.
type ending struct {
	Text   string
	Output json.RawMessage
}

// scripted does what the last of a session's inputs tells it, as package enginetest says.
type scripted struct {
	artifacts string
	say       func(context.Context, string) error
	end       ending
	asked     string // the question that it ended with
}

func (s *scripted) play(ctx context.Context, inputs []string) error {
	for _, step := range enginetest.Steps(inputs[len(inputs)-1]) {
		if err := s.step(ctx, step, inputs); err != nil {
			return fmt.Errorf("%s: %w", step.Word, err)
		}
	}
	return nil
}

func (s *scripted) step(ctx context.Context, step enginetest.Step, inputs []string) error {
	switch step.Word {
	case "say":
		return s.say(ctx, step.Rest)
	case "delta":
		s.end.Text += step.Rest
	case "final":
		s.end.Text = step.Rest
	case "done":
		s.end.Text = step.Rest + "\n" + interaction.DoneMarker + "\n"
	case "ask":
		s.asked = step.Rest
	case "output":
		s.end.Output = json.RawMessage(step.Rest)
	case "note":
	case "recall":
		s.end.Text = recall(inputs)
	case "fail":
		return errors.New(step.Rest)
	case "touch":
		return os.WriteFile(filepath.Join(s.artifacts, step.Rest), nil, 0o600)
	case "await":
		return await(ctx, filepath.Join(s.artifacts, step.Rest))
	case "hang":
		<-ctx.Done()
		return context.Cause(ctx)
	case "flood":
		n, err := strconv.Atoi(step.Rest)
		for i := range n {
			if err := s.say(ctx, fmt.Sprintf("wave %d %s", i, strings.Repeat("~", 80))); err != nil {
				return err
			}
		}
		return err
	default:
		return errors.New("unknown step")
	}
	return nil
}

// recall is all that the session was told.
func recall(inputs []string) string {
	var all []string
	for _, in := range inputs {
		for line := range strings.Lines(in) {
			line = strings.TrimSpace(line)
			if note, ok := strings.CutPrefix(line, ":: note "); ok {
				all = append(all, note)
			} else if line != "" && !strings.HasPrefix(line, "::") {
				all = append(all, line)
			}
		}
	}
	return strings.Join(all, " | ")
}

// await waits for a file. Nothing tells of files on every system, so it looks again and again.
func await(ctx context.Context, path string) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
