package exec

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
)

// drainTime is how long the pipes of an ended process may stay open in the hands of one that left its group.
const drainTime = 2 * time.Second

// process is a started agent and its group.
type process struct {
	cmd    *exec.Cmd
	token  string
	stdin  *os.File // nil unless it is the channel of answers
	stdout *os.File
	stderr *tail
	grace  time.Duration

	ended  chan struct{} // closed when the process has ended and its group is gone
	result error         // of waiting; set before ended is closed
	stop   sync.Once
	copied sync.WaitGroup // of the error output
}

// start runs the command. The goroutine that starts it keeps its thread until the process has ended, because on
// Linux the kernel ends the child with the thread that started it, not with the process.
func (e *Engine) start(args, env []string, dir string, input io.Reader, channel bool, token string, stderr io.Writer) (*process, error) {
	p := &process{cmd: exec.CommandContext(context.Background(), e.cfg.Command, args...), token: token, stderr: &tail{size: 4 << 10}, grace: e.cfg.Grace, ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = dir, env
	group(p.cmd)
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, outR.Close(), outW.Close())
	}
	p.stdout, p.cmd.Stdout, p.cmd.Stderr = outR, outW, errW
	closers := []io.Closer{outW, errW}
	if channel {
		inR, inW, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, outR.Close(), outW.Close(), errR.Close(), errW.Close())
		}
		p.stdin, p.cmd.Stdin = inW, inR
		closers = append(closers, inR)
	} else if input != nil {
		p.cmd.Stdin = input
		p.cmd.WaitDelay = drainTime // an agent that does not read its input must not keep Wait
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		for _, c := range closers {
			_ = c.Close() // the child has its own
		}
		started <- err
		if err == nil {
			p.wait(errR)
		}
	}()
	if err := <-started; err != nil {
		_ = errors.Join(outR.Close(), errR.Close())
		if p.stdin != nil {
			_ = p.stdin.Close()
		}
		return nil, err
	}
	p.copied.Go(func() { _, _ = io.Copy(io.MultiWriter(p.stderr, stderr), errR) })
	return p, nil
}

// wait waits for the process, ends what it left in its group, and closes the pipes.
func (p *process) wait(errR *os.File) {
	p.result = waitGroup(p.cmd)
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	// Whoever left the group may hold the pipes open; give the readers time for what is in them.
	deadline := time.Now().Add(drainTime)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = errR.SetReadDeadline(deadline)
	close(p.ended)
	p.copied.Wait()
	_ = errR.Close()
}

// identity is the process's, "" where the system cannot tell.
func (p *process) identity() string {
	id, err := procid.Of(p.cmd.Process.Pid)
	if err != nil {
		return ""
	}
	return id
}

// end ends the process and its group: TERM, a grace, KILL. It returns when they are gone.
func (p *process) end() {
	p.stop.Do(func() {
		select {
		case <-p.ended:
			return
		default:
		}
		terminateGroup(p.cmd.Process.Pid)
		grace := time.NewTimer(p.grace)
		defer grace.Stop()
		select {
		case <-p.ended:
		case <-grace.C:
			killGroup(p.cmd.Process.Pid)
		}
	})
	<-p.ended
	sweep(p.token)
}
