package all_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	_ "modernc.org/sqlite"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/all"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/otel"
	"github.com/interlude-go/interlude/host/signin"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// shipper asks before it ships.
var shipper = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf(t.Prompt)), nil
	}
	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
		return engine.Done("not shipped"), nil
	}
	return engine.Done("shipped"), nil
})

func request(t *testing.T, method, address, kind, body string) (status int, text string) {
	t.Helper()
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

// buried is a queue with a dead letter.
func buried(t *testing.T) notify.Queue {
	t.Helper()
	q, now := notify.NewMemory(), time.Now()
	body, err := json.Marshal(lifecycle.Event{RunID: "old", Seq: 1})
	require.NoError(t, err)
	require.NoError(t, q.Add(t.Context(), "old", []notify.Entry{{RunID: "old", Seq: 1, Body: body}}, now))
	claimed, _, err := q.Claim(t.Context(), "old", now, now.Add(time.Minute), 1)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.NoError(t, q.Bury(t.Context(), "old", claimed[0], now, "no such host"))
	return q
}

// L2, L3, L4, L5: one call serves page, API, links, notices and telemetry, and ends in order.
func TestL2OneCallServesAWholeHost(t *testing.T) {
	metrics := sdkmetric.NewManualReader()
	letters, served := make(chan string, 1), make(chan error, 1)
	queue, resent := buried(t), make(chan string, 1)
	var client *lifecycle.Client
	var address net.Addr
	ready := make(chan struct{})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() {
		served <- all.Serve(ctx, all.Host{
			Lifecycle: lifecycle.Config{Store: memory.New(), Engine: shipper, Forgiving: true},
			Address:   "127.0.0.1:0",
			LinkKeys:  []link.Key{{ID: "1", Secret: []byte(strings.Repeat("s", link.MinSecret))}},
			Web:       web.Options{Brand: web.Brand{Name: "Acme Desk"}},
			Notices:   notify.Config{Queue: queue},
			Endpoints: func(client *lifecycle.Client, links *link.Links) ([]notify.Endpoint, error) {
				letter := func(ctx context.Context, n notify.Notice) error {
					q, err := notify.OpenQuestion(ctx, client, n)
					if err != nil || q == nil {
						return err
					}
					letter, err := links.For(n.Event.RunID, *q, link.To("ada"))
					letters <- letter
					return err
				}
				again := func(_ context.Context, n notify.Notice) error {
					if n.Event.RunID == "old" {
						resent <- n.Event.RunID
					}
					return nil
				}
				return []notify.Endpoint{{Name: "ada", Sender: notify.SenderFunc(letter)},
					{Name: "old", Sender: notify.SenderFunc(again)}}, nil
			},
			Telemetry: &otel.Config{Metrics: sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics))},
			Routes: func(mux *http.ServeMux, client *lifecycle.Client) {
				mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "hello")
				})
			},
			Ready: func(c *lifecycle.Client, a net.Addr) { client, address = c, a; close(ready) },
		})
	}()
	select {
	case <-ready:
	case err := <-served:
		require.FailNow(t, "the host is not served", "%v", err)
	}
	base := "http://" + address.String()
	status, page := request(t, http.MethodGet, base+"/interlude/", "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "<main")
	_, text := request(t, http.MethodGet, base+"/hello", "", "")
	require.Equal(t, "hello", text)
	status, text = request(t, http.MethodPost, base+"/interlude/api/runs", "application/json",
		`{"id":"r","prompt":"Ship it?"}`)
	require.Equal(t, http.StatusCreated, status, text)

	letter := <-letters
	require.True(t, strings.HasPrefix(letter, base+"/answer/"), letter)
	status, page = request(t, http.MethodGet, letter, "", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, base+"/interlude/#/inbox/r/1", "the link leads to the page, too")
	require.Contains(t, page, " – Acme Desk</title>", "the page and the links have one brand")
	form := url.Values{"option": {"0"}}.Encode()
	status, page = request(t, http.MethodPost, letter, "application/x-www-form-urlencoded", form)
	require.Equal(t, http.StatusOK, status, page)
	run, err := client.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "shipped", run.FinalText)

	_, text = request(t, http.MethodGet, base+"/interlude/api/notices/dead", "", "")
	require.Contains(t, text, `"endpoint":"old","id":"old/1"`)
	for _, want := range []int{http.StatusNoContent, http.StatusNotFound} {
		status, text = request(t, http.MethodPost, base+"/interlude/api/notices/resend", "application/json",
			`{"endpoint":"old","id":"old/1"}`)
		require.Equal(t, want, status, text)
		if want == http.StatusNoContent {
			require.Equal(t, "old", <-resent)
		}
	}

	var reported metricdata.ResourceMetrics
	require.NoError(t, metrics.Collect(t.Context(), &reported))
	require.NotEmpty(t, reported.ScopeMetrics)
	end()
	require.NoError(t, <-served)
}

// R2, R3: with a sign-in, the page and the host's routes need a token, whose scope counts; links and
// probes need none.
func TestR3OneCallSignsIn(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "people.db"))
	require.NoError(t, err)
	defer db.Close()
	tokens, err := signin.OpenSQLite(t.Context(), db)
	require.NoError(t, err)
	token, _, err := tokens.CreateToken(t.Context(), signin.Token{Person: "ci", Scope: signin.ScopeView}, time.Now())
	require.NoError(t, err)
	in, err := signin.New(signin.Config{Store: tokens})
	require.NoError(t, err)
	lines, log := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	served, ready := make(chan error, 1), make(chan net.Addr, 1)
	go func() {
		served <- all.Serve(ctx, all.Host{
			Lifecycle: lifecycle.Config{Store: memory.New(), Engine: shipper},
			Address:   "127.0.0.1:0", SignIn: in, Probes: "127.0.0.1:0",
			LinkKeys: []link.Key{{ID: "1", Secret: []byte(strings.Repeat("s", link.MinSecret))}},
			Web:      web.Options{Logger: slog.New(slog.NewTextHandler(log, nil))},
			Routes: func(mux *http.ServeMux, _ *lifecycle.Client) {
				mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
					if _, err := in.Identify(r); err != nil {
						w.WriteHeader(http.StatusUnauthorized)
					}
				})
			},
			Ready: func(_ *lifecycle.Client, a net.Addr) { ready <- a },
		})
	}()
	probes := make(chan string, 1)
	go func() {
		for scanner := bufio.NewScanner(lines); scanner.Scan(); {
			if _, address, found := strings.Cut(scanner.Text(), " probes="); found {
				probes <- address
			}
		}
	}()
	health := <-probes
	base := "http://" + (<-ready).String()
	call := func(method, path, token string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(`{"prompt":"Ship it?"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	require.Equal(t, http.StatusUnauthorized, call(http.MethodGet, "/interlude/api/inbox", ""))
	require.Equal(t, http.StatusUnauthorized, call(http.MethodGet, "/hello", ""))
	require.Equal(t, http.StatusOK, call(http.MethodGet, "/interlude/api/inbox", token))
	require.Equal(t, http.StatusOK, call(http.MethodGet, "/hello", token))
	require.Equal(t, http.StatusForbidden, call(http.MethodPost, "/interlude/api/runs", token), "its scope is view")
	require.NotEqual(t, http.StatusUnauthorized, call(http.MethodGet, "/answer/x", ""))
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 404} {
		require.Eventually(t, func() bool { // ready once the node has joined
			status, _ := request(t, http.MethodGet, health+path, "", "")
			return status == want
		}, time.Minute, 50*time.Millisecond, path)
	}
	end()
	require.NoError(t, <-served)
	require.NoError(t, log.Close())
}

// A host that cannot be served says why, and leaves nothing behind.
func TestServeSaysWhatIsWrong(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	good := lifecycle.Config{Engine: shipper}
	for text, h := range map[string]all.Host{
		"want at least one engine": {Address: "127.0.0.1:0"},
		"address already in use":   {Lifecycle: good, Address: taken.Addr().String()},
		"no Notices.Queue": {Lifecycle: good, Address: "127.0.0.1:0",
			Notices: notify.Config{Endpoints: []notify.Endpoint{{Name: "a"}}}},
		"links": {Lifecycle: good, Address: "127.0.0.1:0", LinkKeys: []link.Key{{ID: "1", Secret: []byte("short")}}},
		"endpoints": {Lifecycle: good, Address: "127.0.0.1:0", Notices: notify.Config{Queue: notify.NewMemory()},
			Endpoints: func(*lifecycle.Client, *link.Links) ([]notify.Endpoint, error) {
				return nil, errors.New("no")
			}},
		"SignIn and Web.Identify": {Lifecycle: good, Address: "127.0.0.1:0", SignIn: &signin.SignIn{},
			Web: web.Options{Identify: (&signin.SignIn{}).Identify}},
		"probes": {Lifecycle: good, Address: "127.0.0.1:0", Probes: taken.Addr().String()},
		"both set": {Lifecycle: lifecycle.Config{Engine: shipper, Observer: lifecycle.Observer{
			Dropped: func(int) {}}}, Address: "127.0.0.1:0", Telemetry: &otel.Config{}},
	} {
		require.ErrorContains(t, all.Serve(t.Context(), h), text)
	}
}
