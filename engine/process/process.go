package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/internal/procid"
)

// drainTime is how long a process that left its group can delay the end by holding the pipes.
const drainTime = 2 * time.Second

// DefaultGrace is the time between TERM and KILL.
const DefaultGrace = 5 * time.Second

// stderrTail is the size of the error output's end that is kept, in bytes.
const stderrTail = 4 << 10

// Command says what to start. RunID and Path are required.
type Command struct {
	// RunID is the process's run. It names the record, so it must be a valid file name.
	RunID string
	// Path is the program's absolute path; Args are its arguments without the program, Dir its
	// working folder.
	Path string
	Args []string
	Dir  string
	// Env is the complete environment, NAME=value; the marks of the run are added.
	Env []string
	// TempIn is the folder, usually the run's home, in which the process gets a folder for
	// temporary files; TMPDIR names it, overriding Env. Release, or a later host's Reap or CleanUp,
	// removes it. It is in the system's temporary folder if TempIn does not exist or is too long
	// for Unix sockets. Empty: TMPDIR is not changed.
	TempIn string
	// Stdin is the process's input; nil is empty. With Channel, Process.Stdin is a pipe to it
	// instead.
	Stdin   io.Reader
	Channel bool
	// Stderr receives the error output; nil discards it. Process.ErrorText has its end in any case.
	Stderr io.Writer
	// Redact removes secrets from the error output before it is stored or passed to Stderr; nil
	// removes nothing. The reader of Stdout must redact it.
	Redact *redact.Redactor
	// Grace is the time between TERM and KILL; 0: DefaultGrace.
	Grace time.Duration
	// MaxMemory limits the memory of the process, its group and its descendants together, in bytes;
	// 0: unlimited, the only value without MeasuresMemory. It is sampled every 250 ms, shared
	// memory counts for each process, and a process over the limit is terminated. This stops
	// runaway growth only.
	MaxMemory int64
	// Sandbox may change how the process is started: prepend a program (for example bwrap), set
	// SysProcAttr.Credential, a control group or, with Contain, namespaces. The process must remain
	// the leader of its group (no Setsid), and get the environment and the pipes. Nil: the process
	// has this process's rights. Its error is returned by Start.
	Sandbox func(cmd *exec.Cmd) error
}

// Process is a started process and its group. It is safe for concurrent use.
type Process struct {
	// Stdin is nil unless Command.Channel. Read Stdout to its end; Release closes it.
	Stdin  *os.File
	Stdout *os.File

	table  *Table
	cmd    *exec.Cmd
	record record
	stderr *tail
	grace  time.Duration

	ended  chan struct{} // closed when the process has ended and its group is gone
	result error         // of waiting; set before ended is closed
	stop   sync.Once
	copied sync.WaitGroup // the error output

	mu      sync.Mutex   // guards the fields below
	cleaned bool         // no process with the token is left
	retired bool         // the process number may have been reused
	memory  *MemoryError // set when the process is terminated for its memory
}

// start runs the command. Its goroutine keeps its thread until the process has ended, because on
// Linux the kernel kills the child when the thread that started it ends, not when the host does.
func start(c Command, rec record) (*Process, error) {
	p := &Process{
		cmd: &exec.Cmd{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir, Env: c.Env,
			Stdin: c.Stdin},
		record: rec, stderr: &tail{size: stderrTail}, grace: c.Grace, ended: make(chan struct{}),
	}
	if p.grace == 0 {
		p.grace = DefaultGrace
	}
	if rec.Temp != "" {
		p.cmd.Env = append(slices.Clip(c.Env), envTemp+"="+rec.Temp) // of two values the last one counts
	}
	if c.Sandbox != nil {
		if err := c.Sandbox(p.cmd); err != nil {
			return nil, fmt.Errorf("process: sandbox: %w", err)
		}
		if err := giveTemp(rec.Temp, p.cmd); err != nil {
			return nil, err
		}
	}
	p.cmd.Env = rec.marked(p.cmd.Env)
	group(p.cmd)
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, outR.Close(), outW.Close())
	}
	p.Stdout, p.cmd.Stdout, p.cmd.Stderr = outR, outW, errW
	closers := []io.Closer{outW, errW}
	if c.Channel {
		inR, inW, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, outR.Close(), outW.Close(), errR.Close(), errW.Close())
		}
		p.Stdin, p.cmd.Stdin = inW, inR
		closers = append(closers, inR)
	} else if c.Stdin != nil {
		p.cmd.WaitDelay = drainTime // an agent that does not read its input must not block Wait
	}
	var stderr io.Writer = p.stderr
	if c.Stderr != nil {
		stderr = io.MultiWriter(p.stderr, c.Stderr)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		for _, end := range closers {
			_ = end.Close() // the child has a duplicate
		}
		if err == nil {
			p.copied.Go(func() { _, _ = io.Copy(stderr, c.Redact.Reader(errR)) })
		}
		started <- err
		if err == nil {
			p.wait(errR)
		}
	}()
	if err := <-started; err != nil {
		_ = errors.Join(outR.Close(), errR.Close())
		if p.Stdin != nil {
			_ = p.Stdin.Close()
		}
		return nil, err
	}
	return p, nil
}

// wait waits for the process, ends the processes that it left, in its group and elsewhere, and
// closes the pipes.
func (p *Process) wait(errR *os.File) {
	p.result = p.withMemory(p.reap())
	p.clean()
	if p.Stdin != nil {
		_ = p.Stdin.Close()
	}
	// An undetected process may hold the pipes open. Give the readers time for the buffered output.
	deadline := time.Now().Add(drainTime)
	_ = p.Stdout.SetReadDeadline(deadline)
	_ = errR.SetReadDeadline(deadline)
	p.copied.Wait() // before Err and ErrorText are used
	_ = errR.Close()
	close(p.ended)
}

func (p *Process) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process.Pid)
	p.retired = true
}

func (p *Process) signal(send func(pid int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.retired {
		send(p.cmd.Process.Pid)
	}
}

func (p *Process) identity() string {
	id, err := procid.Of(p.cmd.Process.Pid)
	if err != nil {
		return ""
	}
	return id
}

// End ends the process and its group by TERM, a grace period, and KILL, and processes with the
// token that left the group. It returns when they are gone. It may be called repeatedly and at any
// time.
func (p *Process) End() {
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
	p.clean()
}

// clean ends processes with the token that left the group, once the process has ended. It returns
// false if one may be left.
func (p *Process) clean() bool {
	p.mu.Lock()
	cleaned := p.cleaned
	p.mu.Unlock()
	switch {
	case cleaned:
		return true
	case !endByToken(p.record.Token, p.cmd.Process.Pid):
		return !findsByToken
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleaned = true // only processes with the token could start more of them
	return true
}

// Ended is closed when the process has ended and no process is left. Its output can be read for a
// short time afterwards.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Running reports whether the process lives.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Err waits for the end of the process and returns how it ended: nil for status 0, an
// *os/exec.ExitError for other statuses, a *MemoryError that wraps these if it was terminated for
// its memory use.
func (p *Process) Err() error {
	<-p.ended
	return p.result
}

// ErrorText is the end of the error output so far.
func (p *Process) ErrorText() string { return p.stderr.String() }

// Release waits for the end and frees resources: the reading end of the output, and, once no
// descendant is left, the temporary folder and the record. If a process cannot be ended or the
// folder cannot be removed, the record stays for a later host.
func (p *Process) Release() {
	<-p.ended
	clean := p.clean()
	_ = p.Stdout.Close()
	if clean && p.record.removeTemp() == nil {
		p.table.remove(p.record)
	}
}

// Killed reports whether a process was ended from outside: by KILL (which a system without memory
// also uses), TERM, INT or HUP. A shell that ran it reports the first two as statuses 137 and 143.
// The process was then interrupted; it did not fail. err is the result of Process.Err. A process
// terminated for its memory use does not count.
func Killed(err error) bool {
	var memory *MemoryError
	var exit *exec.ExitError
	if errors.As(err, &memory) || !errors.As(err, &exit) {
		return false
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP},
			status.Signal())
	}
	return slices.Contains([]int{137, 143}, exit.ExitCode())
}

// tail is a writer that keeps the end of its input, for the text of a failure.
type tail struct {
	mu   sync.Mutex
	last []byte // guarded by mu
	size int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p[max(0, len(p)-t.size):]...)
	if extra := len(t.last) - t.size; extra > 0 {
		t.last = append(t.last[:0], t.last[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
