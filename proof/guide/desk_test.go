package guide_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	host "github.com/interlude-go/interlude/proof/program"
)

// desk is the folder in which a reader of the guide works, and the programs that run in it.
type desk struct {
	tb       testing.TB
	dir      string
	env      []string
	address  map[string]string // by the address on the page
	programs map[string]*program
}

type program struct {
	cmd   *exec.Cmd
	ended chan error
	log   *lockedBuffer
}

// lockedBuffer is a buffer that a program writes while the test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// house is the module that the page is about, and root its folder.
const (
	house = "github.com/interlude-go/interlude"
	root  = "../.."
)

// newDesk makes the folder as the page's first commands do, with this repository in place of a
// released version.
func newDesk(tb testing.TB) *desk {
	tb.Helper()
	d := &desk{tb: tb, dir: tb.TempDir(), address: make(map[string]string), programs: make(map[string]*program)}
	top, err := filepath.Abs(root)
	require.NoError(tb, err)
	mod := "module example.com/desk\n\ngo 1.25.0\n"
	for _, below := range []string{"", "/store/sqlite", "/store/postgres"} {
		mod += fmt.Sprintf("\nrequire %s%s v0.1.0\n\nreplace %s%s => %s%s\n", house, below, house, below, top, below)
	}
	d.write("go.mod", mod)
	sums, err := os.ReadFile(filepath.Join(root, "proof/go.sum")) // the guide's module has the same dependencies
	require.NoError(tb, err)
	d.write("go.sum", string(sums))
	tb.Cleanup(func() {
		for _, p := range d.programs {
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	})
	return d
}

func (d *desk) write(name, text string) {
	d.tb.Helper()
	require.NoError(d.tb, os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600))
}

func (d *desk) build() {
	d.tb.Helper()
	cmd := exec.CommandContext(d.tb.Context(), "go", "build", "-o", "desk")
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	require.NoError(d.tb, err, "%s", out)
}

// start runs the program at an address of the page, for which it uses a free port.
func (d *desk) start(address string) {
	d.tb.Helper()
	if d.address[address] == "" {
		free, err := new(net.ListenConfig).Listen(d.tb.Context(), "tcp", "localhost:0")
		require.NoError(d.tb, err)
		d.address[address] = free.Addr().String()
		require.NoError(d.tb, free.Close())
	}
	p := &program{cmd: exec.Command("./desk"), ended: make(chan error, 1), log: new(lockedBuffer)}
	p.cmd.Dir = d.dir
	p.cmd.Env = append(append(os.Environ(), "ADDR="+d.address[address]), d.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	require.NoError(d.tb, p.cmd.Start())
	d.programs[address] = p
	go func() {
		p.ended <- p.cmd.Wait()
		close(p.ended)
	}()
	d.await("the program answers", p, func() bool {
		_, _, err := d.call(http.MethodGet, address+"/", nil)
		return err == nil
	})
}

// kill kills a program with kill -9.
func (d *desk) kill(address string) {
	d.tb.Helper()
	require.NoError(d.tb, d.programs[address].cmd.Process.Kill())
	<-d.programs[address].ended
	delete(d.programs, address)
}

// stop ends all programs as a deployment does.
func (d *desk) stop() {
	d.tb.Helper()
	for address, p := range d.programs {
		require.NoError(d.tb, p.cmd.Process.Signal(syscall.SIGTERM))
		err := host.Await("the program", p.cmd.Process, p.ended, host.Patience)
		require.NoError(d.tb, err, "%s", p.log)
		delete(d.programs, address)
	}
}

// patience is how long the test waits for a condition.
const patience = 30 * time.Second

func (d *desk) await(what string, p *program, met func() bool) {
	d.tb.Helper()
	giveUp := time.After(patience)
	for !met() {
		select {
		case err := <-p.ended:
			d.tb.Fatalf("%s: the program has ended: %v\n%s", what, err, p.log)
		case <-giveUp:
			d.tb.Fatalf("%s: not within %s\n%s", what, patience, p.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// call makes a request to an address of the page, with a form if there is one.
func (d *desk) call(method, target string, form url.Values) (status int, body string, _ error) {
	d.tb.Helper()
	for address, real := range d.address {
		target = strings.Replace(target, address, real, 1)
	}
	ctx, cancel := context.WithTimeout(d.tb.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+target, strings.NewReader(form.Encode()))
	require.NoError(d.tb, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}
