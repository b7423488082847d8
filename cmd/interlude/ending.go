package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

func (c *conversation) end(ctx context.Context) (int, error) {
	c.screen.clear()
	if ctx.Err() != nil {
		c.screen.line(plain, "") // after ^C
	}
	c.leave()
	if err := <-c.served; err != nil {
		return failed, err
	}
	r, err := c.lc.Get(context.WithoutCancel(ctx), c.run.ID)
	if err != nil {
		return failed, err
	}
	return c.printState(r), nil
}

func (c *conversation) printState(r lifecycle.Run) int {
	switch {
	case r.State == lifecycle.StateSucceeded:
		c.screen.line(green, "✓ succeeded: "+terminal.Many(r.Attempt, "turn")+", "+c.took())
		if c.screen.events == nil {
			c.results(r)
		}
		return succeeded
	case r.State.Terminal():
		text := "✗ " + string(r.State)
		if r.Error != nil {
			code := string(r.Error.Code) + ": "
			text += ": " + code + strings.ReplaceAll(strings.TrimPrefix(brief(r.Error.Message), code), "\n", "\n  ")
		}
		c.screen.line(red, text)
		c.screen.line(dim, "  after "+terminal.Many(r.Attempt, "turn")+", "+c.took()+"; transcripts are in "+
			near(filepath.Join(c.dir, r.ID, "transcripts")))
		return failed
	case r.State == lifecycle.StateWaitingUser && r.Profile == lifecycle.ProfileStickyProcess:
		c.screen.line(red, "✗ cannot continue: this agent waits in its process, which has ended with this program")
		return failed
	case r.State == lifecycle.StateWaitingUser:
		c.screen.line(green, "‖ parked: the question stays open")
	default:
		c.screen.line(green, "‖ interrupted: the turn will be repeated")
	}
	c.screen.line(plain, "  continue: "+c.resume)
	return goesOn
}

func (c *conversation) took() string {
	text := terminal.Span(c.work) + " of work"
	if c.waits > 0 {
		text += ", " + terminal.Span(c.waits) + " of waiting"
	}
	return text
}

func (c *conversation) results(r lifecycle.Run) {
	if r.Output != nil {
		var pretty bytes.Buffer
		if json.Indent(&pretty, r.Output, "  ", "  ") == nil {
			c.screen.line(bold, "output")
			c.screen.line(plain, "  "+terminal.JSON(pretty.Bytes()))
		}
	}
	folder := filepath.Join(c.dir, r.ID, "artifacts")
	const most = 20
	n := 0
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // unreadable files are not shown
		}
		if n++; n == 1 {
			c.screen.line(bold, "artifacts")
		}
		if n > most {
			c.screen.line(plain, "  and more in "+near(folder))
			return fs.SkipAll
		}
		size := ""
		if info, err := entry.Info(); err == nil {
			size = fmt.Sprintf("  (%d bytes)", info.Size())
		}
		c.screen.line(plain, "  "+near(path)+size)
		return nil
	})
}

// near returns the path relative to the working folder, if that is shorter.
func near(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}

// resumeCommand returns this command without its single-use flags.
func resumeCommand(name string, args []string) string {
	words := []string{programName(name), "run"}
	once := map[string]bool{"kill": true, "reply": true}
	for i := 0; i < len(args); i++ {
		name, value := flagName(args[i])
		switch {
		case name == "new":
		case once[name] && !value:
			i++
		case once[name]:
		default:
			words = append(words, command.Quote(args[i]))
		}
	}
	return strings.Join(words, " ")
}

func programName(name string) string {
	if strings.Contains(name, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/interlude"
	}
	return name
}

// flagName returns the flag's name in the argument, and whether the argument includes the value.
func flagName(arg string) (name string, value bool) {
	if !strings.HasPrefix(arg, "-") {
		return "", false
	}
	name, _, value = strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name, value
}
