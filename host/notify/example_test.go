package notify_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/lifecycle"
)

// A receiver gets a webhook for each question. It fails the first attempt, so the webhook arrives
// again with the same id.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" // whsec_ and random bytes
	accepted := make(chan string, 10)
	attempts := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		must(err)
		id, err := notify.Verify(r.Header, body, time.Now(), secret)
		must(err)
		if attempts++; attempts == 1 {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		accepted <- id
	}))
	defer receiver.Close()

	asks := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) == 0 {
			return engine.Ask(engine.ConfirmOf("Ship it?")), nil
		}
		if yes, _ := t.Answers[0].Yes(); !yes {
			return engine.Done("not shipped"), nil
		}
		return engine.Done("shipped"), nil
	})
	lc, err := lifecycle.New(lifecycle.Config{Engine: asks, Forgiving: true})
	must(err)
	defer lc.Close()
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() { must(lc.Serve(ctx)) })

	hook, err := notify.NewWebhook(notify.WebhookConfig{URL: receiver.URL, Secrets: []string{secret},
		Network: netguard.Network{PlainHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	must(err)
	notifier, err := notify.New(notify.Config{Client: lc.Client, Queue: notify.NewMemory(),
		Logger: slog.New(slog.DiscardHandler), Endpoints: []notify.Endpoint{{Name: "receiver", Sender: hook,
			Filter: lifecycle.FeedFilter{Types: []string{lifecycle.TypeInputRequired}},
			Retry:  notify.Retry{First: 10 * time.Millisecond}}}})
	must(err)
	_, err = lc.CreateFeed(ctx, notify.FeedName("receiver"), lifecycle.DefaultFeedLag)
	must(err)
	serving.Go(func() { notifier.Serve(ctx) })

	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "release-1", Prompt: "Release."})
	must(err)
	fmt.Println("accepted", <-accepted)
	// Output: accepted release-1/4
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
