package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// workspace is a run's folders; all empty when Config.Dir is.
type workspace struct {
	work, artifacts, transcripts, home string
}

// folders makes the run's folders until it has a session. From then on they must be there: a turn that goes on
// without its files would go on with something else (I.3, I.4).
func (l *Lifecycle) folders(run Run, spec Spec) (workspace, error) {
	if l.cfg.Dir == "" && spec.WorkDir == "" {
		return workspace{}, nil
	}
	var w workspace
	if l.cfg.Dir != "" {
		base := filepath.Join(l.cfg.Dir, run.ID)
		w = workspace{filepath.Join(base, "work"), filepath.Join(base, "artifacts"), filepath.Join(base, "transcripts"), filepath.Join(base, "home")}
		if run.Session == nil {
			if err := os.MkdirAll(w.home, 0o700); err != nil {
				return w, fmt.Errorf("workspace: %w", err)
			}
		}
	}
	if spec.WorkDir != "" {
		var err error
		if w.work, err = absolute(spec.WorkDir); err != nil { // an earlier release stored it as it was given
			return w, fmt.Errorf("workspace: %w", err)
		}
	} else if run.Session == nil {
		if err := os.MkdirAll(w.work, 0o750); err != nil {
			return w, fmt.Errorf("workspace: %w", err)
		}
	}
	if info, err := os.Stat(w.work); err != nil {
		return w, fmt.Errorf("workspace: %w", err)
	} else if !info.IsDir() {
		return w, fmt.Errorf("workspace: %s is not a folder", w.work)
	}
	if l.cfg.Dir == "" {
		return w, nil
	}
	for _, dir := range []string{w.artifacts, w.transcripts} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return w, fmt.Errorf("workspace: %w", err)
		}
	}
	return w, nil
}

// absolute makes a relative folder absolute, in the process's own; an empty one and an absolute one stay as they are.
func absolute(dir string) (string, error) {
	if dir == "" || filepath.IsAbs(dir) {
		return dir, nil
	}
	return filepath.Abs(dir)
}

// input is what the engine is given for the attempt.
func (t *turn) input(spec Spec) (engine.Turn, error) {
	dirs, err := t.node.folders(t.run, spec)
	if err != nil {
		return engine.Turn{}, err
	}
	in := engine.Turn{
		RunID: t.run.ID, Attempt: t.run.Attempt, Epoch: t.epoch, Mode: t.run.Mode,
		Prompt:  interaction.Patch(interaction.PromptParts{Task: spec.Prompt, Mode: t.run.Mode, ArtifactDir: dirs.artifacts, OutputSchema: spec.OutputSchema}),
		Answers: answers(t.run), OutputSchema: spec.OutputSchema,
		WorkDir: dirs.work, ArtifactDir: dirs.artifacts, TranscriptDir: dirs.transcripts, HomeDir: dirs.home,
	}
	if s := t.run.Session; s != nil {
		in.Handle = &engine.Handle{Engine: s.Engine, Version: s.Version, Data: s.Data}
	}
	return in, nil
}
