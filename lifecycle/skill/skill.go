// Package skill reads a skill folder: the instructions of a job (SKILL.md), its settings
// (assets/runner.json) and the JSON Schema of its output. Spec turns the folder into a
// specification to submit, and Load returns its contents.
//
//	SKILL.md                    front matter (name, description) and the instructions
//	assets/runner.json          {"id", "name", "version", "engine", "execution_modes": ["auto", "interactive"],
//	                             "schemas": {"output": "assets/output.schema.json"}, "max_attempt": 8,
//	                             "session_timeout_sec": 1200, "interactive_require_user_reply": true}
//	assets/output.schema.json   named by schemas.output, relative to the folder or to assets/
//
// A file may be a link within the folder. Links that leave the folder and special files are
// refused, so that a third party's skill neither reveals a file of the host to an agent nor blocks
// the host. Copy a folder that may change during reading.
//
// Fields of runner.json that are not listed here belong to other tools and are ignored; a listed
// field with a wrong value is an error.
package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/schema"
	"github.com/interlude-go/interlude/lifecycle"
)

// Limits of a skill's files in bytes.
const (
	MaxInstructions = 512 << 10
	MaxRunner       = 64 << 10
	MaxSchema       = 1 << 20
)

// Skill is the content of a skill folder.
type Skill struct {
	ID           string
	Name         string
	Version      string
	Engine       string
	Instructions string     // SKILL.md without its front matter
	Modes        []fsm.Mode // at least one
	OutputSchema json.RawMessage
	// MaxAttempt is max_attempt; 0: not declared.
	MaxAttempt int
	// SessionTimeoutSec is session_timeout_sec; 0: not declared.
	SessionTimeoutSec int
	// RequireUserReply is interactive_require_user_reply; nil: not declared.
	RequireUserReply *bool
}

// Error names the invalid file and field of a skill.
type Error struct {
	File   string
	Field  string // empty: the file as a whole
	Detail string
	Err    error
}

func (e *Error) Error() string {
	text := "skill: " + e.File
	if e.Field != "" {
		text += ": " + e.Field
	}
	text += ": " + e.Detail
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

const (
	skillFile  = "SKILL.md"
	runnerFile = "assets/runner.json"
)

// Spec turns a skill folder into the specification of a run in this mode. Fields that the folder does
// not declare are zero; the caller may change everything. The error is an *Error that names file and
// field, or a *lifecycle.SpecError if the skill does not support the mode.
func Spec(folder fs.FS, mode lifecycle.Mode) (lifecycle.Spec, error) {
	s, err := Load(folder)
	if err != nil {
		return lifecycle.Spec{}, err
	}
	if !slices.Contains(s.Modes, mode) {
		return lifecycle.Spec{}, &lifecycle.SpecError{Field: "Mode", Value: fmt.Sprintf("%.80q", string(mode)),
			Want: fmt.Sprintf("one of the skill's execution_modes %q", s.Modes)}
	}
	return lifecycle.Spec{
		Prompt: s.Instructions, Mode: mode, Engine: s.Engine, OutputSchema: s.OutputSchema, MaxAttempts: s.MaxAttempt,
		SessionTimeout: time.Duration(s.SessionTimeoutSec) * time.Second,
		AutoDecide:     s.RequireUserReply != nil && !*s.RequireUserReply,
		Labels:         map[string]string{"skill": s.ID},
	}, nil
}

// Load reads a skill folder. The error is an *Error.
func Load(folder fs.FS) (Skill, error) {
	text, err := read(folder, skillFile, MaxInstructions)
	if err != nil {
		return Skill{}, err
	}
	if !utf8.Valid(text) {
		return Skill{}, &Error{File: skillFile, Detail: "not UTF-8"}
	}
	runner, err := read(folder, runnerFile, MaxRunner)
	if err != nil {
		return Skill{}, err
	}
	s, schemaPath, err := parseRunner(runner)
	if err != nil {
		return Skill{}, err
	}
	if s.Instructions = body(string(text)); s.Instructions == "" {
		return Skill{}, &Error{File: skillFile, Detail: "has no instructions"}
	}
	if schemaPath == "" {
		return s, nil
	}
	s.OutputSchema, err = readSchema(folder, schemaPath)
	return s, err
}

// body is the text after its front matter.
func body(text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, after, found := strings.Cut("\n"+rest, "\n---\n"); found {
			text = after
		}
	}
	return strings.TrimSpace(text)
}

func readSchema(folder fs.FS, name string) (json.RawMessage, error) {
	if strings.Contains(name, "\\") || !fs.ValidPath(path.Clean(name)) || path.Clean(name) == "." {
		return nil, &Error{File: runnerFile, Field: "schemas.output",
			Detail: fmt.Sprintf("is %.80q, want the path of a file inside the skill folder", name)}
	}
	name = path.Clean(name)
	text, err := read(folder, name, MaxSchema)
	if errors.Is(err, fs.ErrNotExist) {
		if beside, err := read(folder, path.Join(path.Dir(runnerFile), name), MaxSchema); err == nil {
			text, name = beside, path.Join(path.Dir(runnerFile), name)
			return compile(name, text)
		}
	}
	if err != nil {
		return nil, err
	}
	return compile(name, text)
}

func compile(name string, text []byte) (json.RawMessage, error) {
	if _, err := schema.Compile(text); err != nil {
		return nil, &Error{File: name, Detail: "is no JSON Schema that can be used", Err: err}
	}
	return text, nil
}

var (
	idPattern     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	enginePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)
)
