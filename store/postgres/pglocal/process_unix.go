//go:build unix

package pglocal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// watch is a shell that starts a watcher and then becomes the program, which supervises its
// children: so the watcher is orphaned at once. It reads a pipe (3) that only the caller's process
// can write to: a line means an orderly end, EOF without one the caller's death. Then it kills the
// program ($$ is the program's process in the watcher, too), which ends its children within
// seconds: PostgreSQL's "immediate shutdown". A pipe held by all of them (6) closes with the last
// one, which the watcher sees on its end (5). Another (4) closes with the watcher, and signals the
// caller that no process is left.
const watch = `
folder=$1
shift
( (
	read -r farewell && exit
	kill -QUIT $$
	read -r everybody <&5
	[ -z "$folder" ] || rm -rf -- "$folder"
) <&3 3<&- 6>&- >/dev/null 2>&1 & )
exec "$@" 3<&- 4>&- 5<&-
`

// process is a program that does not outlive the caller's process.
type process struct {
	cmd      *exec.Cmd
	log      *tail
	farewell *os.File // to the watcher
	gone     *os.File // ends with the watcher
	done     chan struct{}
	err      error // how it ended, once done is closed
}

// start starts the program as the account. If the caller's process dies, the program ends, and the
// folder, if given, is removed.
func (a account) start(ctx context.Context, log io.Writer, folder, program string, args ...string) (*process, error) {
	p := &process{log: &tail{to: log}, done: make(chan struct{})}
	var pipes [3][2]*os.File // the farewell, the watcher's end, and the end of all processes
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes[:i])
			return nil, fmt.Errorf("pglocal: %w", err)
		}
		pipes[i] = [2]*os.File{r, w}
	}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", append([]string{"-c", watch, "pglocal", folder,
		program}, args...)...)
	p.cmd.Dir = "/" // the caller's own may be closed to the account
	p.cmd.Env = environment(os.Environ())
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.ExtraFiles = []*os.File{pipes[0][0], pipes[1][1], pipes[2][0], pipes[2][1]} // 3 to 6
	p.cmd.SysProcAttr = a.attributes()
	p.cmd.WaitDelay = patience // of children that outlive the program, and hold its log
	if err := p.cmd.Start(); err != nil {
		closeAll(pipes[:])
		return nil, fmt.Errorf("pglocal: start %s: %w", program, err)
	}
	for _, file := range p.cmd.ExtraFiles {
		_ = file.Close() // only the processes have them now
	}
	p.farewell, p.gone = pipes[0][1], pipes[1][0]
	go p.wait()
	return p, nil
}

func closeAll(pipes [][2]*os.File) {
	for _, pipe := range pipes {
		_, _ = pipe[0].Close(), pipe[1].Close() // nothing was written
	}
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	_, _ = io.WriteString(p.farewell, "farewell\n") // a watcher that was killed hears nothing
	_ = p.farewell.Close()
	_, _ = io.Copy(io.Discard, p.gone)
	_ = p.gone.Close()
	close(p.done)
}

// run runs the program to its end, or interrupts it when the context ends.
func (a account) run(ctx context.Context, log io.Writer, folder, program string, args ...string) error {
	p, err := a.start(ctx, log, folder, program, args...)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.end())
	}
	if p.err != nil {
		return fmt.Errorf("pglocal: %s: %w: %s", program, p.err, p.log)
	}
	return nil
}

// patience limits an orderly shutdown: its checkpoint writes all of memory.
const patience = 30 * time.Second

// end shuts the program down in order (a "fast shutdown": sessions are ended, a checkpoint is
// written), or else by force, which the error says.
func (p *process) end() error {
	if p.signaled(syscall.SIGINT, patience) {
		return nil
	}
	if p.signaled(syscall.SIGQUIT, patience/3) {
		return fmt.Errorf("pglocal: the server did not shut down in %s, and was ended at once: %s", patience, p.log)
	}
	return errors.Join(fmt.Errorf("pglocal: the server did not shut down in %s, and was killed: %s",
		patience+patience/3, p.log), p.crash())
}

func (p *process) signaled(sig os.Signal, within time.Duration) bool {
	_ = p.cmd.Process.Signal(sig) // an ended process is done soon
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-p.done:
		return true
	case <-timeout.C:
		return false
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// environment is the caller's without what would change a server: PostgreSQL's variables, language
// and time zone.
func environment(all []string) []string {
	kept := []string{"LC_ALL=C", "TZ=UTC"}
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "PG") && !strings.HasPrefix(name, "LC_") && name != "LANG" && name != "LANGUAGE" &&
			name != "TZ" {
			kept = append(kept, entry)
		}
	}
	return kept
}
