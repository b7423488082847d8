package main

import (
	"os"

	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

// newEngine runs this program again, as the agent: one process a turn, or one that stays.
func newEngine(o *options) (*exec.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cfg := exec.Config{
		Name: "garden-party", Command: self, StateDir: o.db + ".processes", Stdin: "{input}",
		Args: []string{"agent", "-mode={mode}", "-artifacts={artifacts}", "-input=-", "-answers={interaction}"},
		ResumeArgs: []string{"agent", "-mode={mode}", "-artifacts={artifacts}", "-input=-", "-answers={interaction}",
			"-session={session}"},
		Rules: []exec.Rule{
			{Match: map[string]string{"type": "session"}, Do: exec.Session, Path: "session_id"},
			{Match: map[string]string{"type": "message"}, Do: exec.Message, Path: "text"},
			{Match: map[string]string{"type": "final"}, Do: exec.Final, Path: "text"},
			{Match: map[string]string{"type": "lost"}, Do: exec.ResumeFailed},
			{Match: map[string]string{"type": "turn_end"}, Do: exec.TurnEnd},
		},
	}
	if o.profile == fsm.ProfileStickyProcess {
		cfg.Resident, cfg.ResumeArgs = true, nil
		cfg.Args = []string{"agent", "-mode={mode}", "-artifacts={artifacts}", "-resident"}
		cfg.Stdin, cfg.StdinJSON = `{"input":{input},"answers":{interaction}}`, true
	}
	return exec.New(cfg)
}
