//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/proof/checkout"
)

// load is proof/cluster at one address of the servers: its nodes, people and judge.
type load struct {
	address string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     bytes.Buffer // used after the program's end
	log     string
	done    chan struct{}
	err     error // set before done is closed
}

// verdict is the part of the cluster's verdict that this program uses.
type verdict struct {
	Correct    bool              `json:"correct"`
	Violations []json.RawMessage `json:"violations"`
	Runs       int               `json:"runs"`
	Replies    int64             `json:"replies_accepted"`
	Incidents  []incident        `json:"incidents"`
}

type incident struct {
	Name        string `json:"name"`
	PauseMS     int64  `json:"pause_ms"`
	AfterMS     int64  `json:"after_ms"`
	Turns       int    `json:"turns"`
	Interrupted int    `json:"interrupted"`
}

// buildCluster builds proof/cluster.
func buildCluster(ctx context.Context, to string) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	return checkout.Run(ctx, filepath.Join(root, "proof", "cluster"), "go", "build", "-o", to, ".")
}

// startLoad starts the cluster. It runs as the caller, in a folder of the site, and so do its nodes.
func startLoad(s *site, program, address string, args ...string) (*load, error) {
	l := &load{address: address, log: filepath.Join(s.dir, address+".load.log"), done: make(chan struct{})}
	log, err := os.Create(l.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args = append([]string{"-outside", "-json", "-runs", "1000000", "-lease", "60s", "-timeout",
		libraryTimeout.String()}, args...)
	l.cmd = exec.CommandContext(context.Background(), program, args...)
	l.cmd.Dir, l.cmd.Stdout, l.cmd.Stderr = s.dir, &l.out, log
	l.cmd.Env = append(os.Environ(), "TMPDIR="+s.dir)
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		l.err = l.cmd.Wait()
		close(l.done)
	}()
	return l, nil
}

// announce sends a line to the cluster.
func (l *load) announce(line string) error {
	select {
	case <-l.done:
		return l.ended(errors.New("it ended early"))
	default:
		_, err := io.WriteString(l.in, line+"\n")
		return err
	}
}

// verdict waits until all runs have ended, and returns the result of the checks.
func (l *load) verdict(ctx context.Context) (v verdict, _ error) {
	select {
	case <-l.done:
	case <-time.After(8 * time.Minute):
		_ = l.cmd.Process.Signal(syscall.SIGQUIT) // the log then has the goroutines
		return v, l.ended(errors.New("no verdict within 8 minutes"))
	case <-ctx.Done():
		return v, ctx.Err()
	}
	if err := json.Unmarshal(l.out.Bytes(), &v); err != nil {
		return v, l.ended(errors.Join(l.err, err))
	}
	return v, nil
}

// ended adds the end of the cluster's log to an error.
func (l *load) ended(err error) error {
	text, readErr := os.ReadFile(l.log)
	return fmt.Errorf("load %s: %w: %s", l.address, errors.Join(err, readErr), text[max(0, len(text)-1500):])
}
