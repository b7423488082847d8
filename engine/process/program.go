package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// Program is an agent's program file. Two are equal while nobody has replaced the file.
type Program struct {
	Path    string // absolute, since the agent starts in another folder
	size    int64
	changed int64 // Unix time in nanoseconds
}

// FindProgram looks for a command in PATH, or at its path. That takes a few system calls, so that
// engines do it at each turn and notice a program that was installed, updated or removed.
func FindProgram(command string) (Program, error) {
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return Program{}, err
	}
	file, err := os.Stat(path)
	if err != nil {
		return Program{}, err
	}
	return Program{Path: path, size: file.Size(), changed: file.ModTime().UnixNano()}, nil
}

// NotStarted is the failure of a turn whose agent cannot be started.
func NotStarted(err error) error { return Unavailable("the agent's program cannot be started", err) }

// Unavailable is the failure of a turn whose agent cannot be used.
func Unavailable(detail string, err error) error {
	return &engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: detail, Err: err}
}

// CheckFolders returns the failure of a turn whose folders are missing.
func CheckFolders(t engine.Turn) error {
	if t.WorkDir == "" || t.TranscriptDir == "" {
		return Unavailable("an agent that is a child process needs folders: set lifecycle.Config.Dir", nil)
	}
	if err := checkFolder(t.WorkDir); err != nil {
		return &engine.Failure{Code: fsm.CodeWorkspaceMissing, Detail: "the run's folder is missing", Err: err}
	}
	return nil
}

// CheckHome returns the failure of a turn whose agent keeps its files in the run's home, and whose
// home is missing. An agent that resumes a session would begin anew without them, or fail for a
// reason that says nothing.
func CheckHome(t engine.Turn, resumed bool) error {
	if t.HomeDir == "" {
		return Unavailable("the agent needs a home of the run's own: set lifecycle.Config.Dir", nil)
	}
	err := checkFolder(t.HomeDir)
	if err == nil {
		return nil
	}
	code := fsm.CodeWorkspaceMissing
	if resumed {
		code = fsm.CodeSessionResumeFailed
	}
	return &engine.Failure{Code: code, Detail: "the agent's home is missing: " + t.HomeDir, Err: err}
}

func checkFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", path)
	}
	return err
}

// CallPrepare calls the Prepare function of a configuration, nil for none. An error that is no
// engine.Failure becomes one.
func CallPrepare(ctx context.Context, prepare func(context.Context, engine.Turn) error, t engine.Turn) error {
	if prepare == nil {
		return nil
	}
	err := prepare(ctx, t)
	var f *engine.Failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return Unavailable("the agent could not be prepared", err)
}
