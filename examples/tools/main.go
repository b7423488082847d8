// Tools serves a flow as a tool of the Model Context Protocol. An MCP client starts this program, and
// its user confirms a release in a dialog.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

type version struct{ Version string }

func release(c *flow.Ctx, v version) (string, error) {
	ok, err := flow.Confirm(c, "sure", engine.ConfirmOf("Release "+v.Version+"?"))
	if err != nil || !ok {
		return "not released", err
	}
	return "released " + v.Version, nil
}

func main() {
	if err := serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	st, err := sqlite.Open(ctx, "runs.db", sqlite.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: flow.New("release", release), Forgiving: true})
	if err != nil {
		return err
	}
	server, err := mcp.New(mcp.Config{Client: lc.Client, Tools: []mcp.Tool{{
		Name: "release", Description: "Releases a version after the user has confirmed it.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"version":{"type":"string"}},"required":["version"]}`),
		Spec: func(_ context.Context, _ lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error) {
			return lifecycle.Spec{Input: arguments}, nil
		}}}})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	err = server.ServeStdio(ctx, lifecycle.Actor{ID: "ada"}, os.Stdin, os.Stdout)
	stop()
	return errors.Join(err, <-served)
}
