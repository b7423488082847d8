// Chat serves a flow to a chat page: public/, which is built from page.jsx. See
// docs/tutorials/chat.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

func refund(c *flow.Ctx, request string) (string, error) {
	order, err := flow.Ask[string](c, "order", engine.Question{Kind: engine.OpenText, Prompt: "Which order?"})
	if err != nil {
		return "", err
	}
	arguments, _ := json.Marshal(map[string]any{"order": order, "cents": 4200}) // has no error
	_, err = flow.Approve(c, "pay", engine.Question{Kind: engine.Approval, Prompt: request,
		Subject: &engine.Subject{Tool: "refund", Arguments: arguments, Risk: "The money cannot be recalled."}})
	if errors.Is(err, engine.ErrNotApproved) {
		return "Nothing was paid.", nil
	}
	return "Order " + order + " is paid back.", err
}

func main() {
	st, err := sqlite.Open(context.Background(), "runs.db", sqlite.Options{})
	check(err)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: flow.New("refund", refund), Forgiving: true})
	check(err)
	http.Handle("/chat/", chats(lc.Client))
	http.Handle("/", http.FileServer(http.Dir("public")))
	go func() { check(lc.Serve(context.Background())) }()
	check(http.ListenAndServe("127.0.0.1:8080", nil))
}

func chats(client *lifecycle.Client) http.Handler {
	s, err := ui.New(ui.Config{Client: client,
		// Your sign-in:
		Identify: func(*http.Request) (lifecycle.Actor, error) { return lifecycle.Actor{ID: "ada"}, nil },
		Start: func(_ context.Context, _ lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			input, err := json.Marshal(m.Text)
			return lifecycle.Spec{Input: input}, err
		}})
	check(err)
	return s.Chat()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
