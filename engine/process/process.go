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

// drainTime is how long the pipes of an ended process may be held open by a process that left its
// group.
const drainTime = 2 * time.Second

// DefaultGrace is the time between TERM and KILL.
const DefaultGrace = 5 * time.Second

// stderrTail is how much of the end of the error output is kept, in bytes.
const stderrTail = 4 << 10

// Command says what to start. RunID and Path are required.
type Command struct {
	// RunID is the run that the process belongs to; it names the record, so it must be able to be a
	// file's name.
	RunID string
	// Path is the program, absolute; Args are its arguments without the program, Dir its working
	// folder.
	Path string
	Args []string
	Dir  string
	// Env is the whole environment, NAME=value; the marks of the run are added to it.
	Env []string
	// TempIn is the folder, in general the run's home, in which the process gets a folder for its
	// temporary files: TMPDIR, which replaces the one in Env. The folder is removed by Release, or by
	// Reap or CleanUp of a later host. It is in the system's temporary folder if TempIn does not
	// exist or is so long that Unix sockets would not fit. Empty: TMPDIR is as in Env.
	TempIn string
	// Stdin is what the process may read; nil is an empty input. Channel has Process.Stdin be a
	// pipe to it instead.
	Stdin   io.Reader
	Channel bool
	// Stderr takes the error output as it comes; nil drops it. Its end is kept in any case, see
	// Process.ErrorText.
	Stderr io.Writer
	// Redact takes secrets out of the error output before anything of it is kept or given to
	// Stderr; nil takes out nothing. Stdout is for its reader to redact.
	Redact *redact.Redactor
	// Grace is the time between TERM and KILL, DefaultGrace when zero.
	Grace time.Duration
	// MaxMemory is how much memory the process, its group and all that they started may hold
	// together, in bytes; no limit when zero, and only that unless MeasuresMemory. It is looked at
	// every quarter of a second, memory that several processes share counts for each, and what
	// exceeds it is ended like any other: this stops what grows without end, it does not keep a
	// machine from running out of memory.
	MaxMemory int64
	// Sandbox may change how the process is started, just before: put a program in front of it
	// (bwrap, say), set SysProcAttr.Credential, a control group or, with Contain, namespaces. It
	// must leave the process the leader of its group (no Setsid), and pass on the environment and
	// the pipes. Nil: the process has the rights of this one. Its error is Start's.
	Sandbox func(cmd *exec.Cmd) error
}

// Process is a started process and its group. It is safe for concurrent use.
type Process struct {
	// Stdin is nil unless Command.Channel. Stdout is to be read to its end, and closed by Release.
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
	copied sync.WaitGroup // of the error output

	mu      sync.Mutex
	cleaned bool         // guarded by mu; nothing that carries the token is left
	retired bool         // guarded by mu; the process number may be that of another process
	memory  *MemoryError // guarded by mu; set when the process is ended for its memory
}

// start runs the command. The goroutine that starts it keeps its thread until the process has
// ended: on Linux the kernel ends the child when the thread that started it ends, not when the host
// does.
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
		p.cmd.WaitDelay = drainTime // an agent that does not read its input must not keep Wait
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
			_ = end.Close() // the child has its own
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

// wait waits for the process, ends what it left, in its group and elsewhere, and closes the pipes.
func (p *Process) wait(errR *os.File) {
	p.result = p.withMemory(p.reap())
	p.clean()
	if p.Stdin != nil {
		_ = p.Stdin.Close()
	}
	// A process that was not found may hold the pipes open. Give the readers time for what is in
	// them.
	deadline := time.Now().Add(drainTime)
	_ = p.Stdout.SetReadDeadline(deadline)
	_ = errR.SetReadDeadline(deadline)
	p.copied.Wait() // before anybody reads why it failed
	_ = errR.Close()
	close(p.ended)
}

// retire kills what is left of the group. From then on no signal is sent to its number, which the
// system may give to another process.
func (p *Process) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process.Pid)
	p.retired = true
}

// signal sends a signal to the group, unless the process is retired.
func (p *Process) signal(send func(pid int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.retired {
		send(p.cmd.Process.Pid)
	}
}

// identity is the process's, "" where the system cannot tell.
func (p *Process) identity() string {
	id, err := procid.Of(p.cmd.Process.Pid)
	if err != nil {
		return ""
	}
	return id
}

// End ends the process and its group: TERM, a grace, KILL; and what left the group and carries the
// token. It returns when they are gone. It may be called more than once and at any time.
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

// clean ends the processes that left the group and carry the token, once the process has ended. It
// returns false when one of them may be left.
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
	p.cleaned = true // only what carries the token starts more of that, and nothing does any more
	return true
}

// Ended is closed when the process has ended and what it left is gone. What it wrote can be read
// for a moment longer.
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

// Err waits for the end of the process and says how it ended: nil for status 0, an
// *os/exec.ExitError for any other, a *MemoryError, which wraps these, when it was ended for its
// memory.
func (p *Process) Err() error {
	<-p.ended
	return p.result
}

// ErrorText is the end of what the process wrote to its error output so far.
func (p *Process) ErrorText() string { return p.stderr.String() }

// Release frees what belongs to an ended process: the reading end of its output, and its temporary
// folder and its record once nothing is left that it started. It waits for the end. Where a process
// cannot be ended or the folder cannot be removed, the record stays for a later host.
func (p *Process) Release() {
	<-p.ended
	clean := p.clean()
	_ = p.Stdout.Close()
	if clean && p.record.removeTemp() == nil {
		p.table.remove(p.record)
	}
}

// Killed reports whether a process ended because somebody else ended it: by KILL, which is also
// what a system does that runs out of memory, TERM, INT or HUP. A shell or another program that ran
// it tells the first two by the statuses 137 and 143. Its work was interrupted then; it did not
// fail. err is what Process.Err returned. A process that was ended for its own memory is none of
// these.
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

// tail is a writer that keeps the end of what is written, for the text of a failure.
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
