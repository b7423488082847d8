// Openai is an example: a GPT model with one tool, which pays after you approve the payment.
//
//	OPENAI_API_KEY=… go run . 'Pay 12 euro to Ada.'
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/engine/flow/toolloop"
	"github.com/interlude-go/interlude/lifecycle"
)

var pay = toolloop.Tool{Name: "pay", Description: "Pays an amount in euro to a person.",
	Schema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"eur":{"type":"integer"}},
		"required":["to","eur"],"additionalProperties":false}`),
	Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
		return "paid " + string(arguments), nil // send flow.Key(ctx) to the bank, so it pays once
	}}

func clerk(client openai.Client) engine.Engine {
	return flow.New("clerk", toolloop.Loop{
		Model:  model{client, openai.ChatModelGPT5},
		System: "You are a clerk who pays what is due.",
		Tools:  []toolloop.Tool{pay},
		Stream: time.Second,
	}.Run)
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("give one argument: what the clerk should do")
	}
	agent := clerk(openai.NewClient(option.WithMaxRetries(0)))
	if err := serve(context.Background(), agent, os.Args[1], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve executes one run and asks on the terminal. The run is in memory; use a store to keep it
// after the program exits.
func serve(ctx context.Context, agent engine.Engine, prompt string, in io.Reader, out io.Writer) error {
	lc, err := lifecycle.New(lifecycle.Config{Engine: agent, Forgiving: true, OnInterrupt: lifecycle.Repeat})
	if err != nil {
		return err
	}
	defer lc.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go lc.Serve(ctx) // stop ends it, Close waits for it
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: prompt})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for event, err := range lc.Events(ctx, run.ID, 0) {
		if err != nil {
			return err
		}
		if event.Type != lifecycle.TypeInputRequired {
			continue
		}
		q, err := lc.Pending(ctx, run.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s %s [y/n] ", q.Prompt, q.Subject.Tool, q.Subject.Arguments)
		r := lifecycle.Reply{ID: q.ID, Seen: q.Digest(), Decision: lifecycle.Reject}
		if lines.Scan() && lines.Text() == "y" {
			r.Decision = lifecycle.Approve
		}
		if _, err := lc.Reply(ctx, run.ID, r); err != nil {
			return err
		}
	}
	run, err = lc.Wait(ctx, run.ID)
	fmt.Fprintf(out, "%s: %s\n", run.State, run.FinalText)
	return err
}
