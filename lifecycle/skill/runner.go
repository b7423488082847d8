package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/interlude-go/interlude/fsm"
)

// parseRunner reads runner.json, field by field, so that each error names its field.
func parseRunner(text []byte) (s Skill, schemaPath string, _ error) {
	if err := wellFormed(text); err != nil {
		return Skill{}, "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return Skill{}, "", &Error{File: runnerFile, Detail: "want a JSON object", Err: err}
	}
	var modes []string
	var schemas map[string]json.RawMessage
	for _, f := range []struct {
		name, want string
		into       any
		ok         func() bool
	}{
		{"id", "1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit", &s.ID, func() bool {
			return idPattern.MatchString(s.ID)
		}},
		{"name", "a text of at most 200 bytes", &s.Name, func() bool { return len(s.Name) <= 200 }},
		{"version", "a text of at most 100 bytes", &s.Version, func() bool { return len(s.Version) <= 100 }},
		{"engine", "1 to 63 of [A-Za-z0-9._/-], beginning with a letter or digit", &s.Engine, func() bool {
			return s.Engine == "" || enginePattern.MatchString(s.Engine)
		}},
		{"execution_modes", `a list of "auto" and "interactive", at least one`, &modes, func() bool {
			return s.modes(modes)
		}},
		{"schemas", "an object", &schemas, func() bool { return true }},
		{"max_attempt", "an integer of at least 1", &s.MaxAttempt, func() bool {
			return s.MaxAttempt >= 1 || fields["max_attempt"] == nil
		}},
		{"session_timeout_sec", "an integer of at least 1", &s.SessionTimeoutSec, func() bool {
			return s.SessionTimeoutSec >= 1 && int64(s.SessionTimeoutSec) <= 1<<31 ||
				fields["session_timeout_sec"] == nil
		}},
		{"interactive_require_user_reply", "true or false", &s.RequireUserReply, func() bool { return true }},
	} {
		raw, given := fields[f.name]
		if given {
			if err := json.Unmarshal(raw, f.into); err != nil || string(raw) == "null" {
				return Skill{}, "", &Error{File: runnerFile, Field: f.name, Detail: fmt.Sprintf("is %.80s, want %s",
					raw, f.want)}
			}
		}
		if !f.ok() {
			value := "missing"
			if given {
				value = fmt.Sprintf("%.80s", raw)
			}
			return Skill{}, "", &Error{File: runnerFile, Field: f.name, Detail: fmt.Sprintf("is %s, want %s", value,
				f.want)}
		}
	}
	if raw, ok := schemas["output"]; ok {
		if err := json.Unmarshal(raw, &schemaPath); err != nil || schemaPath == "" {
			return Skill{}, "", &Error{File: runnerFile, Field: "schemas.output",
				Detail: fmt.Sprintf("is %.80s, want the path of a file", raw)}
		}
	}
	return s, schemaPath, nil
}

func (s *Skill) modes(names []string) bool {
	for _, n := range names {
		m := fsm.Mode(n)
		if m != fsm.ModeAuto && m != fsm.ModeInteractive {
			return false
		}
		if !slices.Contains(s.Modes, m) {
			s.Modes = append(s.Modes, m)
		}
	}
	return len(s.Modes) > 0
}

// wellFormed finds broken JSON, with its line and column, and duplicate keys.
func wellFormed(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := walk(dec, 0); err != nil {
		at := dec.InputOffset()
		var broken *json.SyntaxError
		if errors.As(err, &broken) {
			at = broken.Offset
		}
		before := text[:min(max(at, 0), int64(len(text)))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return &Error{File: runnerFile, Detail: fmt.Sprintf("line %d, column %d", line, column), Err: err}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &Error{File: runnerFile, Detail: "there is more after the JSON object"}
	}
	return nil
}

// walk reads one JSON value.
func walk(dec *json.Decoder, depth int) error {
	if depth > 32 {
		return errors.New("nested deeper than 32")
	}
	t, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	delim, opens := t.(json.Delim)
	if err != nil || !opens {
		return err
	}
	seen := make(map[string]bool)
	for dec.More() {
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("key %q is given twice", name)
			}
			seen[name] = true
		}
		if err := walk(dec, depth+1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}
