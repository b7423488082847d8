package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// workspace is a run's folders; all empty when Config.Dir is.
type workspace struct {
	work, artifacts, transcripts, home string
}

// folders makes the run's folders until it has a session. From then on they must be there: a turn
// that goes on without its files would go on with something else (I3, I4). They are for the
// host's user alone, and none may be a link: the agent could have put it there.
func (l *Lifecycle) folders(run Run, spec Spec) (workspace, error) {
	w, err := l.workspace(run, spec)
	if err != nil {
		return w, fmt.Errorf("workspace: %w", err)
	}
	return w, nil
}

func (l *Lifecycle) workspace(run Run, spec Spec) (w workspace, err error) {
	if l.cfg.Dir != "" {
		base, err := l.claimFolder(run)
		if err != nil {
			return w, err
		}
		w = workspace{filepath.Join(base, "work"), filepath.Join(base, "artifacts"), filepath.Join(base, "transcripts"),
			filepath.Join(base, "home")}
		need := []string{w.artifacts, w.transcripts}
		if run.Session == nil {
			need = append(need, w.home)
		}
		if run.Session == nil && spec.WorkDir == "" {
			need = append(need, w.work)
		}
		for _, dir := range need {
			if err := made(dir); err != nil {
				return w, err
			}
		}
	}
	switch {
	case spec.WorkDir != "":
		if w.work, err = absolute(spec.WorkDir); err != nil { // an earlier release stored it as it was given
			return w, err
		}
		return w, isFolder(w.work, os.Stat) // the caller's may be a link
	case l.cfg.Dir != "":
		return w, isFolder(w.work, os.Lstat)
	default:
		return w, nil
	}
}

// absolute makes a relative folder absolute, in the process's own; an empty one and an absolute one
// stay as they are.
func absolute(dir string) (string, error) {
	if dir == "" || filepath.IsAbs(dir) {
		return dir, nil
	}
	return filepath.Abs(dir)
}

// made makes the folder, unless it is there.
func made(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return isFolder(dir, os.Lstat)
}

func isFolder(dir string, look func(string) (fs.FileInfo, error)) error {
	info, err := look(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return err
}

// input is what the engine is given for the attempt.
func (t *turn) input(spec Spec) (engine.Turn, error) {
	dirs, err := t.node.folders(t.run, spec)
	if err != nil {
		return engine.Turn{}, err
	}
	how := t.spoken()
	in := engine.Turn{
		RunID: t.run.ID, Attempt: t.run.Attempt, Epoch: t.epoch, Mode: t.run.Mode,
		Prompt: how.prompt(spec, dirs.artifacts),
		Plain:  how.plain, Nonce: how.nonce,
		Answers: answers(t.run), OutputSchema: spec.OutputSchema,
		WorkDir: dirs.work, ArtifactDir: dirs.artifacts, TranscriptDir: dirs.transcripts, HomeDir: dirs.home,
	}
	if s := t.run.Session; s != nil {
		in.Handle = &engine.Handle{Engine: s.Engine, Version: s.Version, Data: s.Data}
	}
	return in, nil
}

// prompt is the host's, with instructions unless the engine is plain code (H1, H2, M4).
func (how speech) prompt(spec Spec, artifacts string) string {
	if how.plain {
		return spec.Prompt
	}
	return interaction.Patch(interaction.PromptParts{
		Task: spec.Prompt, Mode: spec.Mode, ArtifactDir: artifacts, OutputSchema: spec.OutputSchema, Nonce: how.nonce,
	})
}

// answers are what the turn goes on with.
func answers(run Run) []interaction.Answer {
	if run.Answer == nil {
		return nil
	}
	return []interaction.Answer{*run.Answer}
}
