// Desk is a whole host in a few lines: the page, the API, links that answer a question, and
// webhooks, over SQLite.
//
//	export LINK_SECRET=$(openssl rand -base64 32) HOOK_SECRET=whsec_$(openssl rand -base64 32)
//	go run ./examples/desk ADDRESS HOOK, for example 127.0.0.1:8080 https://example.com/hook
//
// The front end serves only its own machine, until web.Options.Identify identifies callers.
package main

import (
	"context"
	"database/sql"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/host/all"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	st := must(sqlite.Open(ctx, "runs.db", sqlite.Options{}))
	defer st.Close()
	db := must(sql.Open("sqlite", "notices.db?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)"))
	defer db.Close()
	must(0, all.Serve(ctx, all.Host{
		Lifecycle: lifecycle.Config{Store: st, Engine: engine.Func(agent), Forgiving: true},
		Address:   os.Args[1],
		LinkKeys:  []link.Key{{ID: "1", Secret: []byte(os.Getenv("LINK_SECRET"))}},
		Notices:   notify.Config{Queue: must(notify.OpenSQLite(ctx, db))},
		Endpoints: receivers,
	}))
}

// receivers are a webhook, and ada.
func receivers(client *lifecycle.Client, links *link.Links) ([]notify.Endpoint, error) {
	hook, err := notify.NewWebhook(notify.WebhookConfig{URL: os.Args[2], Secrets: []string{os.Getenv("HOOK_SECRET")},
		Network: netguard.Network{PlainHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	return []notify.Endpoint{{Name: "hook", Sender: hook}, {Name: "ada", Sender: letter(client, links)}}, err
}

// agent asks before it ships. Replace it with yours.
func agent(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf(t.Prompt)), nil
	}
	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
		return engine.Done("not shipped"), nil
	}
	return engine.Done("shipped"), nil
}

// letter sends ada a link for each question. Here it writes to the log; host/notify/mail sends
// mails.
func letter(client *lifecycle.Client, links *link.Links) notify.SenderFunc {
	return func(ctx context.Context, n notify.Notice) error {
		q, err := notify.OpenQuestion(ctx, client, n)
		if err != nil || q == nil {
			return err
		}
		address, err := links.For(n.Event.RunID, *q, link.To("ada"))
		if err == nil {
			log.Println("ada:", q.Prompt, address)
		}
		return err
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
