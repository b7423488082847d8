package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// host is a whole host: the page, the API and the pages of links, over a SQLite file, until the
// context ends.
func host(ctx context.Context, file string, listener net.Listener) error {
	st, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: asker, Forgiving: true})
	if err != nil {
		return err
	}
	defer lc.Close()
	links, err := link.New(link.Config{Client: lc.Client, URL: "https://desk.example.com/answer/",
		Keys: []link.Key{{ID: "2026-03", Secret: bytes.Repeat([]byte("random"), 6)}}})
	if err != nil {
		return err
	}
	frontEnd := web.Handler(lc.Client, web.Options{Identify: identify}) // identify reads your sign-in's session
	pages := http.NewServeMux()
	pages.Handle("/interlude/", frontEnd)
	pages.Handle("/answer/", links)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	return errors.Join(frontEnd.Serve(ctx, listener, pages), <-served)
}

func Example() {
	dir, err := os.MkdirTemp("", "interlude")
	must(err)
	defer os.RemoveAll(dir)
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- host(ctx, filepath.Join(dir, "runs.db"), listener) }()

	request := func(method, path, body string, into any) int {
		r, err := http.NewRequestWithContext(ctx, method, "http://"+listener.Addr().String()+path,
			bytes.NewBufferString(body))
		must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-User", "ada")
		res, err := http.DefaultClient.Do(r)
		must(err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		must(err)
		if into != nil {
			must(json.Unmarshal(text, into))
		}
		return res.StatusCode
	}
	fmt.Println("page", request("GET", "/interlude/", "", nil))
	fmt.Println("submitted", request("POST", "/interlude/api/runs", `{"id":"release-7","prompt":"Ship?"}`, nil))
	var inbox web.Inbox
	for len(inbox.Questions) == 0 { // a page uses /inbox/events instead
		request("GET", "/interlude/api/inbox", "", &inbox)
	}
	fmt.Println("asked", inbox.Questions[0].Question.Prompt)
	const question = "/interlude/api/runs/release-7/questions/1"
	fmt.Println("answered", request("POST", question+"/reply", `{"text":"yes"}`, nil))
	fmt.Println("again", request("POST", question+"/reply", `{"text":"no"}`, nil))
	fmt.Println("an invalid link", request("GET", "/answer/x", "", nil))
	stop()
	fmt.Println("ended", <-ended)
	// Output:
	// page 200
	// submitted 201
	// asked Ship?
	// answered 201
	// again 409
	// an invalid link 400
	// ended <nil>
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
