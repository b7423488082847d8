package cast

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// hostVariable has the configuration of a host as JSON. It is not set in the proof itself.
const hostVariable = "INTERLUDE_PROOF_HOST"

// ServeHost serves a host, if StartHost has made this process, and returns at once otherwise. main
// or TestMain calls it first. Its context ends when the host is asked to end, and when its input
// ends, because then the proof has ended.
func ServeHost[C any](serve func(ctx context.Context, config C) error) {
	text, is := os.LookupEnv(hostVariable)
	if !is {
		return
	}
	endIfItHangs("host")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var config C
	err := json.Unmarshal([]byte(text), &config)
	if err == nil {
		err = serve(ctx, config)
	}
	if err != nil {
		fail("host", err, 1)
	}
	os.Exit(0)
}

// Host is a process that a proof has started.
type Host struct {
	cmd   *exec.Cmd
	input io.Closer
	log   string
	done  chan struct{} // closed when the process has ended
	err   error         // how it ended; set before done is closed
}

// HostOptions are the options of StartHost. The zero value starts this program.
type HostOptions struct {
	Program string // a program that reads its configuration as ServeHost does
	Args    []string
	Dir     string
	Env     []string // in addition to the environment of this process
	// Log is the file for the host's output and errors. Without it, the errors go to this process's.
	Log    string
	Stdout io.Writer
	// Says, if set, is called with each line of the host's output. StartHost returns when the host
	// has written the first one. A host that does not is made to print its goroutines and is killed.
	Says       func(line string)
	Attributes *syscall.SysProcAttr
}

// StartHost starts a host with the configuration. The host is killed when ctx ends.
func StartHost(ctx context.Context, config any, o HostOptions) (*Host, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	if o.Program == "" {
		if o.Program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	h := &Host{cmd: exec.CommandContext(ctx, o.Program, o.Args...), log: o.Log, done: make(chan struct{})}
	h.cmd.Dir, h.cmd.Env = o.Dir, append(append(os.Environ(), hostVariable+"="+string(text)), o.Env...)
	h.cmd.Stdout, h.cmd.Stderr, h.cmd.WaitDelay, h.cmd.SysProcAttr = o.Stdout, os.Stderr, patience, o.Attributes
	if o.Log != "" {
		log, err := os.Create(o.Log)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		if h.cmd.Stderr = log; o.Says == nil {
			h.cmd.Stdout = log
		}
	}
	return h, h.start(o.Says, 5*patience) // a busy machine takes a while
}

func (h *Host) start(says func(string), patience time.Duration) error {
	first, said := make(chan struct{}), make(chan struct{})
	in, out := io.Pipe()
	if says == nil {
		close(first)
		close(said)
	} else {
		h.cmd.Stdout = out
		go func() {
			defer close(said)
			lines := bufio.NewScanner(in)
			for n := 0; lines.Scan(); n++ {
				says(lines.Text())
				if n == 0 {
					close(first)
				}
			}
			_, _ = io.Copy(io.Discard, in) // after a line that is too long: the host must not wait
		}()
	}
	var err error
	if h.input, err = h.cmd.StdinPipe(); err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		return errors.Join(err, out.Close())
	}
	go func() {
		h.err = h.cmd.Wait()
		_ = out.Close() // it never fails
		<-said
		close(h.done)
	}()
	over, stop := lifecycle.SystemClock{}.Timer(patience)
	defer stop()
	select {
	case <-first:
		return nil
	case <-h.done:
		err = h.Err()
	case <-over:
		_ = h.Signal(syscall.SIGQUIT) // it may have ended by now
		err = errors.Join(fmt.Errorf("it has written no line within %s", patience), h.stop(patience))
	}
	select {
	case <-first: // it wrote the line, then ended
		return nil
	default:
		return fmt.Errorf("the host does not start: %w: %s", orNothing(err), h.Output())
	}
}

// Done is closed when the host has ended.
func (h *Host) Done() <-chan struct{} { return h.done }

// Err waits until the host has ended, and returns how it did.
func (h *Host) Err() error {
	<-h.done
	return h.err
}

// Signal sends a signal to the host, unless it has ended.
func (h *Host) Signal(s os.Signal) error { return h.cmd.Process.Signal(s) }

// Release closes the input of the host, so that it ends.
func (h *Host) Release() error { return h.input.Close() }

// Kill ends the host with kill -9. The error says that it had ended by itself.
func (h *Host) Kill() error {
	_ = h.cmd.Process.Kill() // it may have ended
	err := h.Err()
	_ = h.input.Close() // the process has ended
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() {
		return fmt.Errorf("the host has ended by itself: %w: %s", orNothing(err), h.Output())
	}
	return nil
}

var errNothing = errors.New("without an error")

func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}

// patience is how long a host may take to end after it was asked to.
const patience = time.Minute

// Stop asks the host to end, and returns how it did. A host that does not end is made to print its
// goroutines and is killed, and the error says so.
func (h *Host) Stop() error { return h.stop(patience) }

func (h *Host) stop(patience time.Duration) error {
	if h.Signal(syscall.SIGTERM) != nil { // it has ended, or its system has no signals
		_ = h.Release()
	}
	var late error
	for _, s := range []os.Signal{syscall.SIGQUIT, os.Kill} {
		over, stop := lifecycle.SystemClock{}.Timer(patience)
		select {
		case <-h.done:
		case <-over:
			late = fmt.Errorf("the host has not ended within %s; its output has its goroutines", patience)
			_ = h.Signal(s) // it may have ended by now
		}
		stop()
	}
	err := errors.Join(late, h.Err())
	_ = h.Release() // the process has ended
	if err != nil && h.log != "" {
		err = fmt.Errorf("%w: %s", err, h.Output())
	}
	return err
}

// Output returns the end of the host's log.
func (h *Host) Output() string {
	if h.log == "" {
		return ""
	}
	text, err := os.ReadFile(h.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
