package all_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/all"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/otel"
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

// L2, L3, L4, L5: one call serves page, API, links, notices and telemetry, and ends in order.
func TestL2OneCallServesAWholeHost(t *testing.T) {
	metrics := sdkmetric.NewManualReader()
	letters, served := make(chan string, 1), make(chan error, 1)
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
			Notices:   notify.Config{Queue: notify.NewMemory()},
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
				return []notify.Endpoint{{Name: "ada", Sender: notify.SenderFunc(letter)}}, nil
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
	form := url.Values{"option": {"0"}}.Encode()
	status, page = request(t, http.MethodPost, letter, "application/x-www-form-urlencoded", form)
	require.Equal(t, http.StatusOK, status, page)
	run, err := client.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "shipped", run.FinalText)

	var reported metricdata.ResourceMetrics
	require.NoError(t, metrics.Collect(t.Context(), &reported))
	require.NotEmpty(t, reported.ScopeMetrics)
	end()
	require.NoError(t, <-served)
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
		"both set": {Lifecycle: lifecycle.Config{Engine: shipper, Observer: lifecycle.Observer{
			Dropped: func(int) {}}}, Address: "127.0.0.1:0", Telemetry: &otel.Config{}},
	} {
		require.ErrorContains(t, all.Serve(t.Context(), h), text)
	}
}
