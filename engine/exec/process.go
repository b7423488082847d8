package exec

import (
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
	record record
	stdin  *os.File // nil unless it is the channel of answers
	stdout *os.File
	stderr *tail
	grace  time.Duration

	ended  chan struct{} // closed when the process has ended and its group is gone
	result error         // of waiting; set before ended is closed
	stop   sync.Once
	copied sync.WaitGroup // of the error output

	mu      sync.Mutex
	retired bool // guarded by mu; the process number may be anybody's
}

// start runs the command. The goroutine that starts it keeps its thread until the process has ended, because on
// Linux the kernel ends the child with the thread that started it, not with the process.
func (e *Engine) start(cmd *exec.Cmd, channel bool, rec record, stderr io.Writer) (*process, error) {
	p := &process{cmd: cmd, record: rec, stderr: &tail{size: 4 << 10}, grace: e.cfg.Grace, ended: make(chan struct{})}
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
	} else if cmd.Stdin != nil {
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
		if err == nil {
			p.copied.Go(func() { _, _ = io.Copy(io.MultiWriter(p.stderr, stderr), errR) })
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
	return p, nil
}

// wait waits for the process, ends what it left in its group, and closes the pipes.
func (p *process) wait(errR *os.File) {
	p.result = p.reap()
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
	// Whoever left the group may hold the pipes open; give the readers time for what is in them.
	deadline := time.Now().Add(drainTime)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = errR.SetReadDeadline(deadline)
	p.copied.Wait() // before anybody reads why it failed
	_ = errR.Close()
	close(p.ended)
}

// retire ends what is left of the group. From then on the number is not used any more.
func (p *process) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process.Pid)
	p.retired = true
}

// signal sends to the group as long as its number is its own.
func (p *process) signal(send func(pid int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.retired {
		send(p.cmd.Process.Pid)
	}
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
		p.signal(terminateGroup)
		grace := time.NewTimer(p.grace)
		defer grace.Stop()
		select {
		case <-p.ended:
		case <-grace.C:
			p.signal(killGroup)
		}
	})
	<-p.ended
	sweep(p.record.Token)
}

// running reports whether the process lives.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}
