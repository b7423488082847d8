package link_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/lifecycle"
)

func must(err error) {
	if err != nil {
		log.Panic(err) // a host handles the error
	}
}

// shipper is an agent that asks before it ships.
var shipper = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf("Ship it?")), nil
	}
	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
		return engine.Done("not shipped"), nil
	}
	return engine.Done("shipped"), nil
})

// A link in a mail lets one person answer one question. Programs that scan mail follow it without
// effect: only the form decides.
func Example() {
	ctx, shutdown := context.WithCancel(context.Background())
	lc, err := lifecycle.New(lifecycle.Config{Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	served := make(chan error)
	go func() { served <- lc.Serve(ctx) }()

	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	links, err := link.New(link.Config{Client: lc.Client, URL: server.URL + "/answer/", Name: "Acme",
		Keys: []link.Key{{ID: "2026-03", Secret: bytes.Repeat([]byte("random"), 6)}}}) // read it from a secret store
	must(err)
	mux.Handle("/answer/", links)

	_, err = lc.Submit(ctx, lifecycle.Spec{ID: "release-7", Prompt: "Release."})
	must(err)
	for ev, err := range lc.Events(ctx, "release-7", 0) {
		must(err)
		if ev.Type == lifecycle.TypeInputRequired {
			break
		}
	}
	question, err := lc.Pending(ctx, "release-7")
	must(err)
	ada, err := links.For("release-7", *question, link.To("ada"), link.Until(time.Now().Add(48*time.Hour)))
	must(err)
	bob, err := links.For("release-7", *question, link.To("bob"))
	must(err)

	request := func(method, address, form string) {
		r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form))
		must(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := server.Client().Do(r)
		must(err)
		must(resp.Body.Close())
		fmt.Printf("%s %d %q\n", method, resp.StatusCode, resp.Header.Get("Interlude-Reason"))
	}
	request("GET", ada, "")
	request("POST", ada, url.Values{"text": {"yes"}}.Encode())
	request("POST", bob, url.Values{"text": {"no"}}.Encode())
	run, err := lc.Wait(ctx, "release-7")
	must(err)
	fmt.Println(run.FinalText)
	shutdown()
	must(<-served)
	// Output:
	// GET 200 ""
	// POST 200 ""
	// POST 409 "settled"
	// shipped
}
