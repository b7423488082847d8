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

// Format is how an agent writes its output.
type Format string

// The formats.
const (
	// JSONLines: a JSON object a line, read by Config.Rules. The default.
	JSONLines Format = "json_lines"
	// Text: plain text; all of it is the final text.
	Text Format = "text"
)

// Config says how to run an agent. Command and Args are required, and Rules for JSONLines.
//
// Arguments, Stdin and Set may hold placeholders: {prompt} the run's full prompt, {input} what the
// agent is to be told now (the prompt in the first turn, the answer later), {session} the session
// id, {workdir}, {artifacts}, {transcripts}, {home} the folders, {run}, {attempt}, {mode}, and
// {interaction} the number of the interaction that {input} answers, 0 in the first turn. A
// placeholder is replaced once and never splits an argument; an argument that is {auto} stands for
// AutoArgs. A value that begins with a dash gets a space before it where it would begin an
// argument, so that no agent takes a text for a flag; after an argument "--" it stays as it is.
// Texts that may be long, beyond 128 KiB on Linux, belong on Stdin.
type Config struct {
	// Name is the engine's name in session handles; the command's base name when empty. Version is
	// kept in them for people; the one that VersionArgs find when empty.
	Name    string
	Version string
	// VersionArgs have the program print its version, --version say; it is asked once for each
	// program that is installed, and one that cannot answer is no engine. Empty: not asked. Tried
	// are the oldest and the newest version that the configuration was tried with: a run that
	// begins with another says so in a diagnostic, and goes on.
	VersionArgs []string
	Tried       [2]string
	// Command is the program: a name to be found in PATH, or a path, from the host's working folder
	// when it is relative.
	Command string
	// Args start a session, ResumeArgs go on with one. Without ResumeArgs no turn can ask, since
	// none could be resumed. A resident agent has no ResumeArgs.
	Args       []string
	ResumeArgs []string
	// AutoArgs are the agent's full-auto flags; they stand in place of {auto}, in auto mode only
	AutoArgs []string

	// Resident keeps one process for all turns of a run (sticky_process).
	Resident bool
	// Stdin is written to standard input at the beginning of a turn. Empty: the agent gets an empty
	// input. For a resident agent it is one line, written at each turn. With StdinJSON, which a
	// resident agent needs, values are put in as JSON: {attempt} and {interaction} as numbers, all
	// others as strings.
	Stdin     string
	StdinJSON bool

	// Env names the variables of the host that the agent may see. Set gives it others. It sees
	// nothing else, except TMPDIR: unless Set names it, a folder of the process's own, in general in
	// HomeDir, that is removed with the process.
	Env []string
	Set map[string]string
	// Secrets names variables of Env or Set whose values are taken out of all that the agent
	// writes: redact.Mask stands for them in the transcripts, in messages, in the final text and
	// structured output, and in warnings and errors. The values are those that the agent is started
	// with; one that is too short (redact.MinValue) fails the turn. Package redact says in which
	// encodings they are found. What the agent writes into files, and pieces of a secret on lines
	// of their own in the transcript, stay.
	Secrets []string
	// Prepare is called before a process is started for a turn, to put settings into the run's
	// HomeDir, say. It may be called again for the same turn by a later host, and for several runs
	// at once. Its error fails the turn: ENGINE_UNAVAILABLE, or the code of an engine.Failure.
	Prepare func(ctx context.Context, t engine.Turn) error

	// Sandbox may change how the agent of a turn is started, just before: run it in bwrap, as a
	// Unix user of the run's own (SysProcAttr.Credential), or with process.Contain. Without it all
	// agents have the rights of the host's user, and can read each other's homes; see
	// process.Command. The folder that TMPDIR in cmd.Env names must exist in the sandbox. Sandbox is
	// not called for VersionArgs and the like, which see no run. Its error is ENGINE_UNAVAILABLE.
	Sandbox func(cmd *exec.Cmd, t engine.Turn) error

	Format Format
	// Rules say what a line means; all that match a line apply, in order.
	Rules []Rule
	// A resumed turn that failed tells by either of these that its session is gone
	// (SESSION_RESUME_FAILED), besides a rule with the action ResumeFailed: ResumeFailed matches in
	// its error output or in the text of its Failure; ResumeFailedStatus are exit statuses, from 1
	// to 255.
	ResumeFailed       *regexp.Regexp
	ResumeFailedStatus []int
	// KeepsSession says that a resumed session keeps its id: an agent that names another one has
	// begun anew, which ends the turn as such a failure. Otherwise the new id is the one to resume
	// next.
	KeepsSession bool

	// StateDir keeps a record for each process, by which Reap finds what a dead host left. It must
	// outlive the process and be this machine's own; a folder of the user's in the system's
	// temporary folder when empty, which is refused when others can write to it.
	StateDir string

	Grace     time.Duration // between TERM and KILL; 5 s when zero
	TurnLimit time.Duration // a turn's wall-clock time; none when zero
	IdleLimit time.Duration // without a line of output; none when zero
	// MaxLine, MaxOutput and MaxTranscript bound a line, a text or structured output, and the
	// transcript of a turn, in bytes; 1 MiB, 4 MiB and 64 MiB when zero. What is longer is cut.
	// MaxStream bounds all that is written to standard output in a turn, 256 MiB when zero: an
	// agent that writes more is ended and has failed.
	MaxLine, MaxOutput, MaxTranscript, MaxStream int
	// MaxMemory bounds the memory of all processes of a turn together, in bytes; none when zero. An
	// agent that exceeds it is ended and has failed. Linux only; see process.Command.
	MaxMemory int64
}

// checked fills in defaults and says what is wrong.
func (c Config) checked() (Config, error) {
	switch {
	case !process.Supported:
		return c, process.ErrUnsupported
	case c.MaxMemory > 0 && !process.MeasuresMemory:
		return c, fmt.Errorf("exec: Config.MaxMemory: %w", process.ErrNoMemoryLimit)
	}
	if c.Command == "" || len(c.Args) == 0 && c.Stdin == "" {
		return c, errors.New("exec: Config needs Command, and Args or Stdin to hand the agent its input")
	}
	c.Name = cmp.Or(c.Name, filepath.Base(c.Command))
	c.Format = cmp.Or(c.Format, JSONLines)
	if c.Format != JSONLines && c.Format != Text {
		return c, fmt.Errorf("exec: Config.Format is %q, want %q or %q", c.Format, JSONLines, Text)
	}
	if c.Resident && (len(c.ResumeArgs) > 0 || c.Stdin == "" || c.Format != JSONLines) {
		return c, errors.New("exec: a resident agent has no ResumeArgs, is answered by Stdin, and writes JSON lines " +
			"with a TurnEnd rule")
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
		return c, errors.New("exec: Config.Rules are missing: without them no line of the agent's output means " +
			"anything; want Rules, or Format Text")
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
			return c, fmt.Errorf("exec: Config.Tried has %q, want versions such as 1.2.3, and VersionArgs", v)
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
