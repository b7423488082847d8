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

// Permission is the answer to permission requests in auto mode.
type Permission string

// The permissions.
const (
	// Reject: the option to reject once, else to reject always, else canceled. The default.
	Reject Permission = "reject"
	// Allow: the option to allow once, or for always where there is no other.
	Allow Permission = "allow"
)

// Config says how to run an agent. Command is required.
//
// Args and Set may hold placeholders: {home}, {workdir}, {artifacts}, {transcripts} the folders,
// {run}, and {mode}. A placeholder is replaced once and never splits an argument.
type Config struct {
	// Name is the engine's name in session handles; the command's base name when empty. Version is
	// recorded there for people; the announced version when empty.
	Name    string
	Version string
	// Command is the program: a name to be found in PATH, or a path, from the host's working folder
	// when it is relative. Args have it speak the protocol: acp, or --acp, say.
	Command string
	Args    []string

	// Env names the variables of the host that the agent may see. Set gives it others. It sees
	// nothing else, except TMPDIR: unless Set names it, a folder of the process's own, in general in
	// HomeDir, that is removed with the process.
	Env []string
	Set map[string]string
	// Secrets names variables of Env or Set whose values are redacted from the agent's output:
	// redact.Mask replaces them in transcripts, messages, questions, diagnostics and errors. The
	// values are read when the process starts; a value shorter than redact.MinValue fails the turn.
	// In the transcript a secret is found within one line; in a message also across chunks. Files
	// written by the agent are not changed.
	Secrets []string
	// Sandbox may change how the agent of a turn is started, just before; see exec.Config.
	Sandbox func(cmd *exec.Cmd, t engine.Turn) error
	// Prepare is called before a process is started for a turn, to put settings into the run's
	// HomeDir, say. It may be called again for the same turn by a later host, and for several runs
	// at once. Profile calls it with a turn of no run, whose folders are removed afterwards. Its
	// error fails the turn: ENGINE_UNAVAILABLE, or the code of an engine.Failure.
	Prepare func(ctx context.Context, t engine.Turn) error
	// AuthMethod is the id of the authentication method that is called before a session is opened.
	// Empty: none, for agents that find their keys in the environment or in their home.
	AuthMethod string

	// Resident keeps one process for all turns of a run, whatever the agent announces.
	Resident bool
	// PermissionWait is how long a permission request of a resident process stays open while its
	// run waits, so that the answer goes straight into it. When it has passed, or zero: the request
	// is answered as canceled, and the person's decision is applied when the agent proposes the
	// same again.
	PermissionWait time.Duration
	// Gather is how long to wait for more permission requests after the first, so that a person is
	// asked about all of them together. 100 ms when zero.
	Gather time.Duration
	// AutoPermission answers permission requests in auto mode; Reject when empty.
	AutoPermission Permission

	// StateDir has a record for each process, with which Reap finds processes of a dead host. It
	// must outlive the process and be local to this machine; when empty, a folder of the user in
	// the system's temporary folder, which is refused if others can write to it.
	StateDir string

	// Grace is how long an agent has to answer a cancel, to end when its input is closed, and
	// between TERM and KILL; 5 s when zero.
	Grace time.Duration
	// StartLimit is how long it may take to open its session, 2 min when zero. TurnLimit is a
	// turn's wall-clock time and IdleLimit a time without a sign of work, which is an update of a
	// session, a permission request, or an answer; none when zero.
	StartLimit, TurnLimit, IdleLimit time.Duration
	// MaxLine, MaxOutput and MaxTranscript limit a line, a text or structured output, and the
	// transcript of a turn, in bytes; 8 MiB, 4 MiB and 64 MiB when zero. The excess is cut.
	// MaxStream limits standard output in a turn, 256 MiB when zero: an agent that writes more is
	// ended and has failed.
	MaxLine, MaxOutput, MaxTranscript, MaxStream int
	// MaxMemory bounds the memory of all processes of a turn together, in bytes; none when zero. An
	// agent that exceeds it is ended and has failed. Linux only; see process.Command.
	MaxMemory int64
}

// checked fills in defaults and validates.
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

// validateTexts finds unknown placeholders, and variables that cannot be.
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

// values are the values of the placeholders.
func (c Config) values(t engine.Turn) map[string]string {
	return map[string]string{
		"{home}": t.HomeDir, "{workdir}": t.WorkDir, "{artifacts}": t.ArtifactDir, "{transcripts}": t.TranscriptDir,
		"{run}":  t.RunID,
		"{mode}": string(t.Mode),
	}
}

// environment is the agent's environment.
func (c Config) environment() process.Environment {
	return process.Environment{Inherit: c.Env, Set: c.Set, Secrets: c.Secrets}
}

// usesHome reports whether the agent keeps something in the run's HomeDir.
func (c Config) usesHome() bool { return process.UsesPlaceholder("{home}", c.Set, c.Args...) }
