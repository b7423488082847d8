package guide_test

import (
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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/cast"
)

// desk is the folder in which a reader of the guide works, and the programs that run in it.
type desk struct {
	tb       testing.TB
	dir      string
	env      []string
	address  map[string]string // by the address on the page
	programs map[string]*cast.Host
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
	d := &desk{tb: tb, dir: tb.TempDir(), address: make(map[string]string), programs: make(map[string]*cast.Host)}
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
			_ = p.Kill() // it may have ended
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

// start runs the program at an address of the page, for which it uses a free port, and another one if that is taken
// before the program listens.
func (d *desk) start(address string) {
	d.tb.Helper()
	taken := true
	for n := os.Getpid(); taken; n++ {
		port := 15000 + n%17000 // below the ephemeral range, in which other processes take ports all the time
		free, err := new(net.ListenConfig).Listen(d.tb.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		d.address[address] = free.Addr().String()
		require.NoError(d.tb, free.Close())
		p, err := cast.StartHost(context.WithoutCancel(d.tb.Context()), nil, cast.HostOptions{Program: "./desk",
			Dir: d.dir, Env: append([]string{"ADDR=" + d.address[address]}, d.env...),
			Log: filepath.Join(d.tb.TempDir(), "log")})
		require.NoError(d.tb, err)
		d.programs[address] = p
		d.await("the program answers", p, func() bool {
			_, _, err := d.call(http.MethodGet, address+"/", nil)
			taken = strings.Contains(p.Output(), "address already in use")
			return err == nil || taken
		})
	}
}

// kill kills a program with kill -9.
func (d *desk) kill(address string) {
	d.tb.Helper()
	require.NoError(d.tb, d.programs[address].Kill())
	delete(d.programs, address)
}

// stop ends all programs as a deployment does.
func (d *desk) stop() {
	d.tb.Helper()
	for address, p := range d.programs {
		require.NoError(d.tb, p.Stop())
		delete(d.programs, address)
	}
}

// patience is how long the test waits for a condition.
const patience = 30 * time.Second

func (d *desk) await(what string, p *cast.Host, met func() bool) {
	d.tb.Helper()
	giveUp := time.After(patience)
	for !met() {
		select {
		case <-p.Done():
			if met() { // by its last output
				return
			}
			d.tb.Fatalf("%s: the program has ended: %v\n%s", what, p.Err(), p.Output())
		case <-giveUp:
			d.tb.Fatalf("%s: not within %s\n%s", what, patience, p.Output())
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
