package lifecycle

import (
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/interlude-go/interlude/lifecycle/skill"
)

// FromSkill turns a skill folder (SKILL.md, assets/runner.json and its output schema) into a Spec
// of the mode. What the folder does not say keeps the Spec's zero value; the caller may change
// everything. The error is a *skill.Error naming file and field, or ErrInvalidSpec when the skill
// does not support the mode.
func FromSkill(folder fs.FS, mode Mode) (Spec, error) {
	s, err := skill.Load(folder)
	if err != nil {
		return Spec{}, fmt.Errorf("lifecycle: read skill: %w", err)
	}
	if !slices.Contains(s.Modes, mode) {
		return Spec{}, &SpecError{"Mode", quote(string(mode)), fmt.Sprintf("one of the skill's execution_modes %q",
			s.Modes), nil}
	}
	return Spec{
		Prompt: s.Instructions, Mode: mode, Engine: s.Engine, OutputSchema: s.OutputSchema, MaxAttempts: s.MaxAttempt,
		SessionTimeout: time.Duration(s.SessionTimeoutSec) * time.Second, AutoDecide: s.RequireUserReply != nil &&
			!*s.RequireUserReply,
		Labels: map[string]string{"skill": s.ID},
	}, nil
}
