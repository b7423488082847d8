package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
)

// Format is the format of an agent's output.
type Format string

// The formats.
const (
	// JSONLines: one JSON object per line, read by Config.Rules. The default.
	JSONLines Format = "json_lines"
	// Text: plain text; all of it is the final text.
	Text Format = "text"
)

// Config says how to run an agent. Command and Args are required, and Rules for JSONLines.
//
// Arguments, Stdin and Set may contain placeholders: {prompt} the run's full prompt, {input} the
// text to send now (the prompt in the first turn, the answer later), {session} the session id,
// {workdir}, {artifacts}, {transcripts}, {home} the folders, {run}, {attempt}, {mode}, and
// {interaction} the number of the interaction that {input} answers, 0 in the first turn. A
// placeholder is replaced once and never splits an argument; the argument {auto} is replaced by
// AutoArgs. A value that begins with a dash gets a leading space if it would begin an argument, so
// that agents do not parse it as a flag; after an argument "--" it is not changed. Use Stdin for
// texts that may be long (beyond 128 KiB on Linux).
type Config struct {
	// Name is the engine's name in session handles; empty: the command's base name. Version is
	// stored in them for people; empty: the version found with VersionArgs.
	Name    string
	Version string
	// VersionArgs make the program print its version, for example --version. They are executed once
	// for each installed program; a program that fails them makes the engine unavailable. Empty:
	// not executed. Tried are the oldest and the newest version that this configuration was tested
	// with: a run that begins with another version gets a diagnostic, and continues.
	VersionArgs []string
	Tried       [2]string
	// Command is the program: a name on PATH, or a path, relative to the host's working folder.
	Command string
	// Args start a session, ResumeArgs resume one. Without ResumeArgs no turn can ask, because it
	// could not be resumed. A resident agent has no ResumeArgs.
	Args       []string
	ResumeArgs []string
	// AutoArgs are the agent's full-auto flags. They replace {auto}, only in auto mode.
	AutoArgs []string

	// Resident keeps one process for all turns of a run (sticky_process).
	Resident bool
	// Stdin is written to standard input at the beginning of a turn. Empty: the input is empty. For
	// a resident agent it is one line, written at each turn. With StdinJSON, which a resident agent
	// needs, values are encoded as JSON: {attempt} and {interaction} as numbers, the others as
	// strings.
	Stdin     string
	StdinJSON bool

	// Env names the host's variables that the agent may see. Set adds others. The agent sees no
	// other variables except TMPDIR, which, unless Set names it, is a folder for this process,
	// usually in HomeDir, and removed with the process.
	Env []string
	Set map[string]string
	// Secrets names variables of Env or Set whose values, read at the start of the process, are
	// redacted from everything that the turn reports, and from its transcripts line by line
	// (package redact). A value that is too short (redact.MinValue) fails the turn. Files that the
	// agent writes are not redacted.
	Secrets []string
	// Prepare is called before a process is started for a turn, for example to write settings into
	// the run's HomeDir. It may be called again for the same turn by a later host, and concurrently
	// for several runs. Its error fails the turn: ENGINE_UNAVAILABLE, or the code of an
	// engine.Failure.
	Prepare func(ctx context.Context, t engine.Turn) error

	// Sandbox may change how a turn's agent is started: in bwrap, as a separate Unix user per run
	// (SysProcAttr.Credential), or with process.Contain. Without it all agents have the rights of
	// the host's user, and can read each other's homes. The folder of TMPDIR in cmd.Env must
	// exist in the sandbox. Sandbox is not called for VersionArgs and other queries, which belong
	// to no run. An error from Sandbox is reported as ENGINE_UNAVAILABLE.
	Sandbox func(cmd *exec.Cmd, t engine.Turn) error

	Format Format
	// Rules interpret a line; all matching rules apply, in order.
	Rules []Rule
	// A failed resumed turn counts as a lost session (SESSION_RESUME_FAILED) if a rule with the
	// action ResumeFailed has matched, if ResumeFailed matches its error output or the text of its
	// Failure, or if its exit status is in ResumeFailedStatus (each from 1 to 255).
	ResumeFailed       *regexp.Regexp
	ResumeFailedStatus []int
	// KeepsSession says that a resumed session keeps its id: an agent that reports another id has
	// started over, and its turn ends with SESSION_RESUME_FAILED. Otherwise the new id is the next
	// one to resume.
	KeepsSession bool

	// StateDir is the folder of the process records by which Reap finds the processes of a dead
	// host; see process.NewTable.
	StateDir string

	Grace     time.Duration // between TERM and KILL; 0: 5 s
	TurnLimit time.Duration // a turn's wall-clock time; 0: unlimited
	IdleLimit time.Duration // without a line of output; 0: unlimited
	// MaxLine, MaxOutput and MaxTranscript limit a line, a text or structured output, and the
	// transcript of a turn, in bytes; 0: 1 MiB, 4 MiB and 64 MiB. Longer ones are cut. MaxStream
	// limits the standard output of a turn; 0: 256 MiB. An agent that exceeds it is terminated and
	// its turn fails.
	MaxLine, MaxOutput, MaxTranscript, MaxStream int
	// MaxMemory limits the memory of all processes of a turn together, in bytes; 0: unlimited. An
	// agent that exceeds it is terminated and its turn fails. Linux only; see process.Command.
	MaxMemory int64
}

// checked fills in defaults and validates.
func (c Config) checked() (Config, error) {
	switch {
	case !process.Supported:
		return c, process.ErrUnsupported
	case c.MaxMemory > 0 && !process.MeasuresMemory:
		return c, fmt.Errorf("exec: Config.MaxMemory: %w", process.ErrNoMemoryLimit)
	}
	if c.Command == "" || len(c.Args) == 0 && c.Stdin == "" {
		return c, errors.New("exec: Config needs Command, and Args or Stdin to pass the input to the agent")
	}
	c.Name = cmp.Or(c.Name, filepath.Base(c.Command))
	c.Format = cmp.Or(c.Format, JSONLines)
	if c.Format != JSONLines && c.Format != Text {
		return c, fmt.Errorf("exec: Config.Format is %q, want %q or %q", c.Format, JSONLines, Text)
	}
	if c.Resident && (len(c.ResumeArgs) > 0 || c.Stdin == "" || c.Format != JSONLines) {
		return c, errors.New("exec: a resident agent must have no ResumeArgs, a Stdin for its answers, and JSON " +
			"lines with a TurnEnd rule")
	}
	if err := c.environment().Check(); err != nil {
		return c, fmt.Errorf("exec: %w", err)
	}
	if err := c.validateTemplates(); err != nil {
		return c, err
	}
	ends := false
	for i, r := range c.Rules {
		if err := r.check(); err != nil {
			return c, fmt.Errorf("exec: Config.Rules[%d]: %w", i, err)
		}
		ends = ends || r.Do == TurnEnd
	}
	if c.Format == JSONLines && len(c.Rules) == 0 {
		return c, errors.New("exec: Config.Rules is empty, so no line of the agent's output would have a " +
			"meaning; want Rules, or Format Text")
	}
	if c.Resident && !c.StdinJSON {
		return c, errors.New("exec: a resident agent needs StdinJSON: a text of several lines would be several inputs")
	}
	if c.Resident && !ends {
		return c, errors.New("exec: a resident agent needs a rule with TurnEnd: its turns end without its process")
	}
	if min(c.MaxLine, c.MaxOutput, c.MaxTranscript, c.MaxStream) < 0 || c.MaxMemory < 0 || min(c.Grace, c.TurnLimit,
		c.IdleLimit) < 0 {
		return c, errors.New("exec: Config: limits and times must not be negative")
	}
	for _, v := range c.Tried {
		if v != "" && (versionIn(v) != v || len(c.VersionArgs) == 0) {
			return c, fmt.Errorf("exec: Config.Tried has %q, want versions like 1.2.3, and VersionArgs", v)
		}
	}
	for _, status := range c.ResumeFailedStatus {
		if status < 1 || status > 255 {
			return c, fmt.Errorf("exec: Config.ResumeFailedStatus has %d, want 1 to 255", status)
		}
	}
	c.MaxLine = cmp.Or(c.MaxLine, 1<<20)
	c.MaxOutput = cmp.Or(c.MaxOutput, 4<<20)
	c.MaxTranscript = cmp.Or(c.MaxTranscript, 64<<20)
	c.MaxStream = cmp.Or(c.MaxStream, 256<<20)
	c.Grace = cmp.Or(c.Grace, process.DefaultGrace)
	return c, nil
}
