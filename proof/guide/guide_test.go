package guide_test

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// The guide works to the letter: its files are created, its programs are built and started, and its
// commands are executed; they print the page's output. At the end, the same program works on
// PostgreSQL, as two nodes, and the page's form can be sent twice.
func TestTheGuideWorks(t *testing.T) {
	d := newDesk(t)
	for _, b := range blocks(t, filepath.Join(root, "docs/guide.md")) {
		switch b.lang {
		case "go":
			if name := b.file(); name != "" {
				d.write(name, b.text)
			} else {
				b.insert(t, d.dir)
			}
		case "sh":
			for line := range strings.Lines(b.text) {
				d.shell(strings.TrimSpace(line))
			}
		case "console":
			for _, e := range b.exchanges() {
				d.terminal(e)
			}
		}
	}
	d.stop()

	server, err := pglocal.Start(t.Context(), pglocal.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop()) }()
	d.env = []string{"DATABASE_URL=" + server.DSN("")}
	d.start("localhost:8080")
	d.start("localhost:8081")
	d.terminal(exchange{"curl -d id=order-11 -d 'text=Too large.' localhost:8080/requests",
		regexp.MustCompile("submitted order-11")})
	d.replyOnThePage("localhost:8081", "half")
	d.replyOnThePage("localhost:8080", "Here is half of it.")
	d.terminal(exchange{"curl localhost:8081/runs/order-11", regexp.MustCompile("succeeded Paid back: half")})
	d.stop()
}

// A reader of the README or of a tutorial gets a program that builds: the commands are executed in an
// empty folder, with this clone next to it, up to those that need the network, npm or Slack.
func TestTheCommandsForACloneWork(t *testing.T) {
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	for page, first := range map[string]string{
		"README.md":              "go mod init example.com/host\ncp ../interlude/examples/hello/main.go .\n",
		"docs/tutorials/chat.md": "", "docs/tutorials/slack.md": "",
	} {
		t.Run(page, func(t *testing.T) {
			var commands string
			for _, b := range blocks(t, filepath.Join(root, page)) {
				if b.lang == "sh" && strings.Contains(b.text, "go mod edit ") {
					commands, _, _ = strings.Cut(first+b.text, "go mod tidy\n")
				}
			}
			require.NotEmpty(t, commands)
			commands += "cp ../interlude/examples/go.sum .\ngo build -o program .\n"
			commands = strings.ReplaceAll(commands, "../interlude", top)
			cmd := exec.CommandContext(t.Context(), "bash", "-euc", commands)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// shell executes a line of the shell, unless newDesk has done it already.
func (d *desk) shell(line string) {
	d.tb.Helper()
	switch {
	case strings.HasPrefix(line, "mkdir "), strings.HasPrefix(line, "go mod "), strings.HasPrefix(line, "go get "):
	case line == "go build":
		d.build()
	case line == "./desk":
		d.start("localhost:8080")
	case line == "ADDR=localhost:8081 ./desk":
		d.start("localhost:8081")
	default:
		d.tb.Fatalf("the page has a command that the test does not know: %s", line)
	}
}

// words matches the words of a command line, some of which are quoted.
var words = regexp.MustCompile(`'([^']*)'|(\S+)`)

// terminal executes a command until it prints the expected output: a person types more slowly than
// the program works. Each command may be sent twice.
func (d *desk) terminal(e exchange) {
	d.tb.Helper()
	if strings.HasPrefix(e.command, "sleep ") {
		return
	}
	if e.command == "pkill -9 -x desk" {
		d.kill("localhost:8080")
		return
	}
	if d.programs["localhost:8080"] == nil {
		d.start("localhost:8080") // the text of the page says to start it
	}
	var args []string
	for _, w := range words.FindAllStringSubmatch(e.command, -1) {
		args = append(args, w[1]+w[2])
	}
	require.Equal(d.tb, "curl", args[0])
	method, target, form := http.MethodGet, args[len(args)-1], make(url.Values)
	for i, arg := range args {
		if arg == "-d" {
			name, value, _ := strings.Cut(args[i+1], "=")
			form.Set(name, value)
			method = http.MethodPost
		}
	}
	var body string
	defer func() {
		if d.tb.Failed() {
			d.tb.Logf("%s printed %q, and the page says %s", e.command, body, e.prints)
		}
	}()
	d.await(e.command, d.programs["localhost:8080"], func() (met bool) {
		_, got, err := d.call(method, target, form)
		body = got
		return err == nil && e.prints.MatchString(body)
	})
}

var input = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// replyOnThePage fills in the form of the page, and sends it twice.
func (d *desk) replyOnThePage(address, text string) {
	d.tb.Helper()
	form := url.Values{"text": {text}, "actor": {"ada"}}
	d.await("a question on the page", d.programs[address], func() bool {
		_, page, err := d.call(http.MethodGet, address+"/", nil)
		require.NoError(d.tb, err)
		for _, field := range input.FindAllStringSubmatch(page, -1) {
			form.Set(field[1], field[2])
		}
		return form.Get("key") != ""
	})
	for _, want := range []string{"accepted\n", "accepted before\n"} {
		status, body, err := d.call(http.MethodPost, address+"/replies", form)
		require.NoError(d.tb, err)
		require.Equal(d.tb, http.StatusOK, status, body)
		require.Equal(d.tb, want, body)
	}
}
