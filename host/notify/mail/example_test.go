package mail_test

import (
	"context"
	"fmt"
	"log"

	gomail "github.com/wneessen/go-mail"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/notify/mail"
	"github.com/interlude-go/interlude/lifecycle"
)

func must(err error) {
	if err != nil {
		log.Panic(err) // a host handles the error
	}
}

// A question is mailed to the people who may answer it; here nobody has an address, so no mail is
// sent, and the notice counts as delivered.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	lc, err := lifecycle.New(lifecycle.Config{Engine: engine.Func(
		func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(t.Answers) == 0 {
				return engine.Ask(engine.ConfirmOf("Ship it?")), nil
			}
			if yes, _ := t.Answers[0].Yes(); !yes {
				return engine.Done("not shipped"), nil
			}
			return engine.Done("shipped"), nil
		})})
	must(err)
	defer lc.Close()
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	addressesOf := func(to *lifecycle.Audience) []string {
		fmt.Println("for everyone:", to == nil)
		return nil
	}
	linkFor := func(string, string, lifecycle.Question) (string, error) { return "https://example.com/answer/…", nil }

	server, err := gomail.NewClient("smtp.example.com", gomail.WithTLSPolicy(gomail.TLSMandatory))
	must(err)
	sender, err := mail.New(mail.Config{Server: server, From: "Acme <runs@example.com>",
		To: func(ctx context.Context, n notify.Notice) ([]string, error) {
			q, err := notify.OpenQuestion(ctx, lc.Client, n)
			if err != nil || q == nil {
				return nil, err
			}
			return addressesOf(q.To), nil
		},
		Compose: func(ctx context.Context, n notify.Notice, to string) (mail.Mail, error) {
			q, err := notify.OpenQuestion(ctx, lc.Client, n)
			if err != nil || q == nil {
				return mail.Mail{}, err
			}
			address, err := linkFor(to, n.Event.RunID, *q)
			return mail.Mail{Subject: "A question for you", Text: q.Prompt, Address: address}, err
		}})
	must(err)

	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release."})
	must(err)
	for ev, err := range lc.Events(ctx, run.ID, 0) {
		must(err)
		if ev.Type == lifecycle.TypeInputRequired {
			fmt.Println(sender.Send(ctx, notify.Notice{Event: ev}))
			break
		}
	}
	stop()
	must(<-served)
	// Output:
	// for everyone: true
	// <nil>
}
