package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// asProgram makes this test program run the example.
const asProgram = "INTERLUDE_DESK"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	linkSecret = "0123456789abcdef0123456789abcdef"
	hookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

// receiver accepts webhooks, and forwards their events.
func receiver(t *testing.T) (address string, events <-chan lifecycle.Event) {
	t.Helper()
	got := make(chan lifecycle.Event, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var hook struct{ Data lifecycle.Event }
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = notify.Verify(r.Header, body, time.Now(), hookSecret)
		}
		if err == nil {
			err = json.Unmarshal(body, &hook)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		got <- hook.Data
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// start starts the example, and returns its log.
func start(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), asProgram+"=1", "LINK_SECRET="+linkSecret, "HOOK_SECRET="+hookSecret)
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(log)
}

// find reads the log until a line matches, and returns the match.
func find(t *testing.T, log *bufio.Scanner, pattern string) string {
	t.Helper()
	for log.Scan() {
		if found := regexp.MustCompile(pattern).FindString(log.Text()); found != "" {
			return found
		}
	}
	t.Fatalf("the program ended before it logged %s", pattern)
	return ""
}

// L2, L3, L4: one small program serves the page, the API, links and webhooks, and shuts down
// cleanly.
func TestL2TheDeskServesAllFrontEnds(t *testing.T) {
	hook, events := receiver(t)
	desk, log := start(t, "127.0.0.1:0", hook)
	prefix := find(t, log, `http://\S+/interlude/`)
	request := func(method, address, kind, body string) (status int, text string) {
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", kind)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		all, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(all)
	}
	status, page := request(http.MethodGet, prefix, "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "<main")
	status, _ = request(http.MethodPost, prefix+"api/runs", "application/json", `{"id":"r","prompt":"Ship it?"}`)
	require.Equal(t, http.StatusCreated, status)
	link := strings.TrimPrefix(find(t, log, `ada: Ship it\? http://\S+`), "ada: Ship it? ")
	status, page = request(http.MethodGet, link, "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Ship it?")
	run := func() (r struct{ State lifecycle.State }) {
		_, text := request(http.MethodGet, prefix+"api/runs/r", "", "")
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		return r
	}
	require.Equal(t, lifecycle.StateWaitingUser, run().State, "reading the link decides nothing")
	status, page = request(http.MethodPost, link, "application/x-www-form-urlencoded",
		url.Values{"option": {"0"}}.Encode())
	require.Equal(t, http.StatusOK, status, page)
	asked := 0
	for e := range events { // in the order of the run
		if e.Type == lifecycle.TypeInputRequired {
			asked++
		}
		var change lifecycle.StateChanged
		if e.Type == lifecycle.TypeStateChanged && e.Decode(&change) == nil && change.Terminal != nil {
			break
		}
	}
	require.Equal(t, 1, asked)
	require.Equal(t, lifecycle.StateSucceeded, run().State)
	require.NoError(t, desk.Process.Signal(syscall.SIGTERM))
	require.NoError(t, desk.Wait())
}

// N1: a no is not taken for a yes.
func TestN1ANoIsNoYes(t *testing.T) {
	for text, want := range map[string]string{"yes": "shipped", "no": "not shipped"} {
		run := rehearsal.Play(t, rehearsal.Case{Config: lifecycle.Config{Engine: engine.Func(agent)},
			Spec: lifecycle.Spec{Prompt: "Ship it?"}, Reply: rehearsal.Says(text)})
		require.Equal(t, want, run.FinalText)
	}
}
