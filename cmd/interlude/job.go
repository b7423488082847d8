package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine/modeltest"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/skill"
	"github.com/interlude-go/interlude/store/sqlite"
)

// job is a skill with the agent that executes it.
type job struct {
	*options
	spec   lifecycle.Spec
	name   string            // of the engine; a run is never continued with another one
	dir    string            // the folder of its runs
	server *modeltest.Server // the scripted model of -offline
}

func (o *options) job() (*job, error) {
	abs, err := filepath.Abs(o.folder)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, misusef("%s is not a folder, want one with a SKILL.md (interlude new DIR creates one)", o.folder)
	}
	spec, err := o.read(os.DirFS(abs))
	if err != nil {
		return nil, err
	}
	if o.agent == "" {
		if o.agent = spec.Engine; o.agent == "" {
			o.agent = demo
		}
	}
	j := &job{options: o, spec: spec, name: o.engineName()}
	if o.data == "" {
		o.data = filepath.Join(filepath.Dir(abs), ".interlude")
	}
	if j.dir, err = filepath.Abs(filepath.Join(o.data, spec.Labels["skill"], j.name)); err != nil {
		return nil, err
	}
	if o.work != "" {
		if j.spec.WorkDir, err = filepath.Abs(o.work); err != nil {
			return nil, err
		}
		if info, err := os.Stat(j.spec.WorkDir); err != nil || !info.IsDir() {
			return nil, misusef("-work is %s, which is not a folder, want an existing folder", o.work)
		}
	}
	j.spec.Engine, j.spec.Repeatable = j.name, true
	j.spec.AutoDecide = j.spec.AutoDecide || o.autoDecide
	if o.timeout > 0 {
		j.spec.SessionTimeout = o.timeout
	}
	return j, nil
}

// read creates the spec from the folder, in the command line's mode or else the skill's.
func (o *options) read(folder fs.FS) (lifecycle.Spec, error) {
	modes := []lifecycle.Mode{o.mode}
	if o.mode == "" {
		modes = []lifecycle.Mode{lifecycle.Interactive, lifecycle.Auto}
	}
	var spec lifecycle.Spec
	var err error
	for _, mode := range modes {
		if spec, err = skill.Spec(folder, mode); !errors.Is(err, lifecycle.ErrInvalidSpec) {
			break
		}
	}
	var wrong *skill.Error
	switch {
	case errors.As(err, &wrong) && errors.Is(err, fs.ErrNotExist):
		return spec, misusef("%s is missing in %s, want a skill folder (interlude new DIR creates "+
			"one)", wrong.File, o.folder)
	case errors.As(err, &wrong):
		return spec, misusef("%s: %s", o.folder, strings.TrimPrefix(wrong.Error(), "skill: "))
	case err != nil:
		return spec, misusef("%w", err)
	}
	return spec, nil
}

// engineName identifies the agent and its options, so that a run is continued with the same
// configuration.
func (o *options) engineName() string {
	name := o.agent
	if cmd, ok := strings.CutPrefix(name, acpPrefix); ok {
		name = "acp-" + tidy(cmd)
	}
	if o.offline {
		name += "-offline"
	}
	if o.login {
		name += "-login"
	}
	if o.sticky {
		name += "-sticky"
	}
	return name
}

func tidy(cmd string) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r == '/' || r == '\\':
			return '.'
		default:
			return '_'
		}
	}, cmd)
	return word[max(0, len(word)-40):]
}

func (j *job) open(ctx context.Context) (*sqlite.Store, error) {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, misusef("cannot create the folder for runs: %w; choose another folder with -data", err)
	}
	return sqlite.Open(ctx, filepath.Join(j.dir, "runs.db"), sqlite.Options{})
}

// resumeOrSubmit returns a run that has not ended, or submits one (begun).
func (j *job) resumeOrSubmit(ctx context.Context, lc *lifecycle.Lifecycle) (_ lifecycle.Run, begun bool, _ error) {
	if j.run != "" {
		r, err := lc.Get(ctx, j.run)
		if errors.Is(err, lifecycle.ErrNotFound) {
			return r, false, misusef("-run is %.140q, which is not a run in %s", j.run, j.dir)
		}
		return r, false, err
	}
	if !j.another {
		open := []lifecycle.State{lifecycle.StateQueued, lifecycle.StateRunning, lifecycle.StateWaitingUser}
		page, err := lc.Runs(ctx, lifecycle.Query{States: open, Newest: true, Limit: 1})
		if err != nil || len(page.Runs) > 0 {
			return first(page.Runs), false, err
		}
	}
	j.spec.ID = strings.ToLower(time.Now().Format("20060102-150405-") + rand.Text()[:4])
	if j.spec.WorkDir == "" {
		if err := copySkill(filepath.Join(j.dir, j.spec.ID, "work"), j.folder); err != nil {
			return lifecycle.Run{}, false, fmt.Errorf("copy the skill for the agent: %w", err)
		}
	}
	r, err := lc.Submit(ctx, j.spec)
	return r, true, err
}

func first(runs []lifecycle.Run) (r lifecycle.Run) {
	if len(runs) > 0 {
		r = runs[0]
	}
	return r
}

func (j *job) close() {
	if j.server != nil {
		_ = j.server.Close() // its agent has ended
	}
}
