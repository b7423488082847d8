package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
)

type Permission string

// The permissions.
const (
	// Reject: the option to reject once, else to reject always, else canceled. The default.
	Reject Permission = "reject"
	// Allow: the option to allow once, else to allow always.
	Allow Permission = "allow"
)

// Config says how to run an agent. Command is required.
//
// Args and Set may contain placeholders: {home}, {workdir}, {artifacts}, {transcripts} the folders,
// {run}, and {mode}. A placeholder is replaced once and never splits an argument.
type Config struct {
	// Name is the engine's name in session handles; empty: the command's base name. Version is
	// recorded there for people; empty: the announced version.
	Name    string
	Version string
	// Command is the program: a name on PATH, or a path, relative to the host's working folder.
	// Args make it speak the protocol, for example acp or --acp.
	Command string
	Args    []string

	// Env, Set, Secrets, Sandbox and StateDir are as in exec.Config. A secret is also found if it
	// spans several chunks of a message.
	Env     []string
	Set     map[string]string
	Secrets []string
	Sandbox func(cmd *exec.Cmd, t engine.Turn) error
	// Prepare is as in exec.Config. Profile also calls it, with a turn that has no run, and then
	// removes the turn's folders.
	Prepare func(ctx context.Context, t engine.Turn) error
	// AuthMethod is the id of the authentication method called before a session is opened. Empty:
	// none, for agents with keys in their environment or home.
	AuthMethod string

	// Resident keeps one process for all turns of a run, whatever the agent announces.
	Resident bool
	// PermissionWait is how long a resident process's permission request stays open while its run
	// waits, so that the answer goes straight into it. Afterwards, or if zero, the request is
	// answered as canceled, and the decision is applied when the agent proposes the same again.
	PermissionWait time.Duration
	// Gather is how long to wait for more permission requests after the first, to ask about them
	// together. 100 ms when zero.
	Gather         time.Duration
	AutoPermission Permission

	StateDir string

	// Grace is the time for an agent to answer a cancel, to exit when its input is closed, and
	// between TERM and KILL; 5 s when zero.
	Grace time.Duration
	// StartLimit limits the opening of a session, 2 min when zero. TurnLimit limits a turn's
	// wall-clock time, and IdleLimit the time without a session update, permission request or
	// answer; unlimited when zero.
	StartLimit, TurnLimit, IdleLimit time.Duration
	// MaxLine, MaxOutput and MaxTranscript limit a line, a text or structured output, and the
	// transcript of a turn, in bytes; 8 MiB, 4 MiB and 64 MiB when zero. The excess is cut.
	// MaxStream limits a turn's standard output, 256 MiB when zero: an agent over it is ended and
	// has failed.
	MaxLine, MaxOutput, MaxTranscript, MaxStream int
	// MaxMemory limits the memory of all processes of a turn together, in bytes; unlimited when
	// zero. An agent over it is ended and has failed. Linux only (process.Command).
	MaxMemory int64
}

func (c Config) checked() (Config, error) {
	if !process.Supported {
		return c, process.ErrUnsupported
	}
	if c.Command == "" {
		return c, errors.New("acp: Config needs Command")
	}
	c.Name = cmp.Or(c.Name, filepath.Base(c.Command))
	c.AutoPermission = cmp.Or(c.AutoPermission, Reject)
	if c.AutoPermission != Reject && c.AutoPermission != Allow {
		return c, fmt.Errorf("acp: Config.AutoPermission is %q, want %q or %q", c.AutoPermission, Reject, Allow)
	}
	if min(c.MaxLine, c.MaxOutput, c.MaxTranscript, c.MaxStream) < 0 || c.MaxMemory < 0 || min(c.Grace, c.StartLimit,
		c.TurnLimit, c.IdleLimit, c.PermissionWait, c.Gather) < 0 {
		return c, errors.New("acp: Config: limits and times must not be negative")
	}
	if err := c.validateTexts(); err != nil {
		return c, err
	}
	c.MaxLine = cmp.Or(c.MaxLine, 8<<20)
	c.MaxOutput = cmp.Or(c.MaxOutput, 4<<20)
	c.MaxTranscript = cmp.Or(c.MaxTranscript, 64<<20)
	c.MaxStream = cmp.Or(c.MaxStream, 256<<20)
	c.Grace = cmp.Or(c.Grace, process.DefaultGrace)
	c.StartLimit = cmp.Or(c.StartLimit, 2*time.Minute)
	c.Gather = cmp.Or(c.Gather, 100*time.Millisecond)
	return c, nil
}

// validateTexts finds unknown placeholders, and invalid variables.
func (c Config) validateTexts() error {
	if err := c.environment().Check(); err != nil {
		return fmt.Errorf("acp: %w", err)
	}
	known := c.values(engine.Turn{})
	for _, text := range slices.Concat(c.Args, slices.Collect(maps.Values(c.Set))) {
		for _, name := range process.Placeholders(text) {
			if _, ok := known[name]; !ok {
				return fmt.Errorf("acp: Config: unknown placeholder %s in %q", name, text)
			}
		}
	}
	return nil
}

func (c Config) values(t engine.Turn) map[string]string {
	return map[string]string{
		"{home}": t.HomeDir, "{workdir}": t.WorkDir, "{artifacts}": t.ArtifactDir, "{transcripts}": t.TranscriptDir,
		"{run}":  t.RunID,
		"{mode}": string(t.Mode),
	}
}

func (c Config) environment() process.Environment {
	return process.Environment{Inherit: c.Env, Set: c.Set, Secrets: c.Secrets}
}

func (c Config) usesHome() bool { return process.UsesPlaceholder("{home}", c.Set, c.Args...) }
