package lifecycle

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// pattern says which texts are names: letters, digits and marks of ASCII, the first one no mark.
type pattern struct {
	marks   string
	longest int // bytes
}

var (
	idPattern   = pattern{"._-", 128}
	namePattern = pattern{"._/-", 63}
)

// MatchString says whether the whole text is such a name.
func (p pattern) MatchString(s string) bool {
	if s == "" || len(s) > p.longest {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && (i == 0 || strings.IndexByte(p.marks, c) < 0) {
			return false
		}
	}
	return true
}

// Validate says what is wrong with the spec as a *SpecError; nil when it can be submitted. Whether
// its pool and engine exist is known at submission only.
func (s Spec) Validate() error {
	if wrong := s.wrong(); wrong != nil {
		return wrong
	}
	for k, v := range s.Labels {
		if k == "" || len(k) > 63 || len(v) > 255 || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return &SpecError{"Labels", quote(k), "keys of 1 to 63 bytes and values of at most 255, valid UTF-8", nil}
		}
	}
	if len(s.OutputSchema) > 0 {
		if _, err := compiled(s.OutputSchema); err != nil {
			return &SpecError{"OutputSchema", bytesOf(len(s.OutputSchema)), "a JSON Schema that compiles", err}
		}
	}
	return nil
}

// wrong looks at what stands for itself. Nearly every spec is right, so a value is described only
// when it is not: this must not allocate.
func (s *Spec) wrong() *SpecError {
	if s.ID != "" && !idPattern.MatchString(s.ID) {
		return &SpecError{"ID", quote(s.ID), "1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit", nil}
	}
	if s.Prompt == "" || len(s.Prompt) > MaxPrompt {
		return &SpecError{"Prompt", bytesOf(len(s.Prompt)), "1 to " + bytesOf(MaxPrompt), nil}
	}
	if !utf8.ValidString(s.Prompt) {
		return &SpecError{"Prompt", "not UTF-8", "valid UTF-8", nil}
	}
	if s.Mode != "" && s.Mode != Auto && s.Mode != Interactive {
		return &SpecError{"Mode", quote(string(s.Mode)), `"auto" or "interactive"`, nil}
	}
	if s.Engine != "" && !namePattern.MatchString(s.Engine) {
		return &SpecError{"Engine", quote(s.Engine), "1 to 63 of [A-Za-z0-9._/-]", nil}
	}
	if s.MaxAttempts < 0 {
		return &SpecError{"MaxAttempts", fmt.Sprint(s.MaxAttempts), "an integer of at least 1, or 0 for not declared",
			nil}
	}
	if s.SessionTimeout < 0 || s.SessionTimeout%time.Second != 0 {
		return &SpecError{"SessionTimeout", s.SessionTimeout.String(), "whole seconds, at least 1s", nil}
	}
	if s.MaxAutoDecisions < 0 {
		return &SpecError{"MaxAutoDecisions", fmt.Sprint(s.MaxAutoDecisions), "an integer of at least 0", nil}
	}
	if s.MaxRepeats < 0 {
		return &SpecError{"MaxRepeats", fmt.Sprint(s.MaxRepeats), "an integer of at least 1, or 0 for the default", nil}
	}
	if s.TurnTimeout < 0 {
		return &SpecError{"TurnTimeout", s.TurnTimeout.String(), "0 or more", nil}
	}
	if s.RepairRounds < 0 || s.RepairRounds > MaxRepairRounds {
		return &SpecError{"RepairRounds", fmt.Sprint(s.RepairRounds), fmt.Sprintf("0 to %d", MaxRepairRounds), nil}
	}
	if s.Pool != "" && !namePattern.MatchString(s.Pool) {
		return &SpecError{"Pool", quote(s.Pool), "1 to 63 of [A-Za-z0-9._/-]", nil}
	}
	if len(s.Key) > 255 || !utf8.ValidString(s.Key) {
		return &SpecError{"Key", bytesOf(len(s.Key)), "at most 255 bytes of UTF-8", nil}
	}
	if s.Priority < -1000 || s.Priority > 1000 {
		return &SpecError{"Priority", fmt.Sprint(s.Priority), "-1000 to 1000", nil}
	}
	if !inCalendar(s.NotBefore) {
		return &SpecError{"NotBefore", fmt.Sprintf("in the year %d", s.NotBefore.UTC().Year()), "a year of 0 to 9999",
			nil}
	}
	if len(s.Labels) > MaxLabels {
		return &SpecError{"Labels", fmt.Sprintf("%d entries", len(s.Labels)), fmt.Sprintf("at most %d", MaxLabels), nil}
	}
	if len(s.WorkDir) > 4096 {
		return &SpecError{"WorkDir", bytesOf(len(s.WorkDir)), "at most 4096 bytes", nil}
	}
	if !utf8.ValidString(s.WorkDir) || strings.IndexByte(s.WorkDir, 0) >= 0 {
		return &SpecError{"WorkDir", quote(s.WorkDir), "valid UTF-8 without NUL", nil}
	}
	return nil
}

// inCalendar says whether RFC 3339 can write the time: it is stored so.
func inCalendar(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}

func bytesOf(n int) string { return fmt.Sprintf("%d bytes", n) }

func quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Sprintf("%q", s)
}
