package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/fsm"
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
// Arguments, Stdin and Set may hold placeholders: {prompt} the run's full prompt, {input} what the agent is to be told now (the
// prompt in the first turn, the answer later), {session} the session id, {workdir}, {artifacts}, {transcripts} the folders, {run},
// {attempt}, {mode}, and {interaction} the number of the interaction that {input} answers, 0 in the first turn. A placeholder is replaced once and never splits an argument; an argument that is {auto} stands for AutoArgs.
type Config struct {
	// Name is the engine's name in session handles; the command's base name when empty.
	Name string
	// Command is the program: a path, or a name to be found in PATH.
	Command string
	// Args start a session, ResumeArgs go on with one. A resident agent has no ResumeArgs.
	Args       []string
	ResumeArgs []string
	// AutoArgs are the agent's full-auto flags; they stand in place of {auto}, in auto mode only (H4).
	AutoArgs []string

	// Resident keeps one process for all turns of a run (sticky_process).
	Resident bool
	// Stdin is written to standard input at the beginning of a turn. Empty: the agent gets an empty input. For a resident agent it is
	// one line, written at each turn; {input} and the others are put in as JSON strings when StdinJSON is set.
	Stdin     string
	StdinJSON bool

	// Env names the variables of the host that the agent may see. Set gives it others. It sees nothing else.
	Env []string
	Set map[string]string

	Format Format
	// Rules say what a line means; all that match a line apply, in order.
	Rules []Rule
	// ResumeFailed matches, in the error output of a failed resumed turn, that the session is gone (SESSION_RESUME_FAILED).
	ResumeFailed *regexp.Regexp

	// StateDir keeps a record for each process, by which Reap finds what a dead host left. It must outlive the process and be this
	// machine's own; a folder of the user's in the system's temporary folder when empty.
	StateDir string

	Grace     time.Duration // between TERM and KILL; 5 s when zero
	TurnLimit time.Duration // a turn's wall-clock time; none when zero
	IdleLimit time.Duration // without a line of output; none when zero
	// MaxLine, MaxOutput and MaxTranscript bound a line, the final text or output, and the transcript of a turn, in bytes; 1 MiB, 4 MiB and 64 MiB when zero.
	MaxLine, MaxOutput, MaxTranscript int
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

var placeholders = map[string]bool{
	"{prompt}": true, "{input}": true, "{session}": true, "{workdir}": true, "{artifacts}": true, "{transcripts}": true,
	"{run}": true, "{attempt}": true, "{mode}": true, "{interaction}": true,
}

// autoArg is the argument that AutoArgs stand for.
const autoArg = "{auto}"

// checked fills in defaults and says what is wrong.
func (c Config) checked() (Config, error) {
	if c.Command == "" || len(c.Args) == 0 && c.Stdin == "" {
		return c, errors.New("exec: Config needs Command, and Args or Stdin to hand the agent its input")
	}
	if c.Name == "" {
		c.Name = filepath.Base(c.Command)
	}
	if c.Format == "" {
		c.Format = JSONLines
	}
	if c.Format != JSONLines && c.Format != Text {
		return c, fmt.Errorf("exec: Config.Format is %q, want %q or %q", c.Format, JSONLines, Text)
	}
	if c.Resident && (len(c.ResumeArgs) > 0 || c.Stdin == "" || c.Format != JSONLines) {
		return c, errors.New("exec: a resident agent has no ResumeArgs, is answered by Stdin, and writes JSON lines with a TurnEnd rule")
	}
	if err := c.checkTemplates(); err != nil {
		return c, err
	}
	ends := false
	for i, r := range c.Rules {
		if err := r.check(); err != nil {
			return c, fmt.Errorf("exec: Config.Rules[%d]: %w", i, err)
		}
		ends = ends || r.Do == TurnEnd
	}
	if c.Resident && !ends {
		return c, errors.New("exec: a resident agent needs a rule with TurnEnd: its turns end without its process")
	}
	for _, n := range []int{c.MaxLine, c.MaxOutput, c.MaxTranscript, int(c.Grace), int(c.TurnLimit), int(c.IdleLimit)} {
		if n < 0 {
			return c, errors.New("exec: Config: limits and times must not be negative")
		}
	}
	orDefault(&c.MaxLine, 1<<20)
	orDefault(&c.MaxOutput, 4<<20)
	orDefault(&c.MaxTranscript, 64<<20)
	if c.Grace == 0 {
		c.Grace = 5 * time.Second
	}
	if c.StateDir == "" {
		c.StateDir = filepath.Join(os.TempDir(), "interlude-"+strconv.Itoa(os.Getuid()))
	}
	return c, nil
}

func orDefault(n *int, otherwise int) {
	if *n == 0 {
		*n = otherwise
	}
}

// checkTemplates finds unknown placeholders, and full-auto flags that have no place.
func (c Config) checkTemplates() error {
	all := append([]string{c.Stdin}, c.Args...)
	all = append(all, c.ResumeArgs...)
	for _, v := range c.Set {
		all = append(all, v)
	}
	auto := false
	for _, text := range all {
		if text == autoArg {
			auto = true
			continue
		}
		for _, name := range placeholder.FindAllString(text, -1) {
			if !placeholders[name] {
				return fmt.Errorf("exec: Config: unknown placeholder %s in %q", name, text)
			}
		}
	}
	if len(c.AutoArgs) > 0 && !auto {
		return errors.New("exec: Config.AutoArgs have no place: put the argument {auto} into Args")
	}
	return nil
}

// arguments are the turn's, with the placeholders' values put in.
func (c Config) arguments(templates []string, values map[string]string, mode fsm.Mode) []string {
	args := make([]string, 0, len(templates)+len(c.AutoArgs))
	for _, t := range templates {
		switch {
		case t != autoArg:
			args = append(args, expand(t, values))
		case mode == fsm.ModeAuto:
			args = append(args, c.AutoArgs...)
		}
	}
	return args
}

// expand puts the values in, each once: what a value holds is never read as a placeholder.
func expand(template string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(template, func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		return name
	})
}
