package page_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/lifecycle"
)

// pay asks for a text and an approval.
func pay(c *flow.Ctx, request string) (string, error) {
	order, err := flow.Ask[string](c, "order", engine.Question{Kind: engine.OpenText, Prompt: "Which order?"})
	if err != nil {
		return "", err
	}
	_, err = flow.Approve(c, "pay", engine.Question{Kind: engine.Approval, Prompt: request,
		Subject: &engine.Subject{Tool: "refund", Arguments: json.RawMessage(`{"cents":9007199254740993}`),
			Risk: "It cannot be recalled."}})
	return "Order " + order + " is paid back.", err
}

// openChat serves the page of examples/chat, which esbuild bundles.
func openChat(t *testing.T) *world {
	t.Helper()
	need(t, browser != nil, "Chromium")
	example, err := filepath.Abs(filepath.Join("..", "..", "examples", "chat"))
	require.NoError(t, err)
	modules := filepath.Join(example, "..", "..", ".tools", "ui", "node_modules")
	require.DirExists(t, modules, "run .ci/clients.sh, which needs npm")
	bundle := filepath.Join(t.TempDir(), "page.js")
	esbuild := filepath.Join(modules, "@esbuild", "linux-x64", "bin", "esbuild")
	build := exec.CommandContext(t.Context(), esbuild, "page.jsx", "--bundle", "--minify",
		"--jsx=automatic", "--outfile="+bundle)
	build.Dir, build.Env = example, append(build.Environ(), "NODE_PATH="+modules)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	quiet := slog.New(slog.DiscardHandler)
	lc, err := lifecycle.New(lifecycle.Config{Engine: flow.New("pay", pay), Logger: quiet})
	require.NoError(t, err)
	chats, err := ui.New(ui.Config{Client: lc.Client, Identify: identify, Logger: quiet,
		Start: func(_ context.Context, _ lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			input, err := json.Marshal(m.Text)
			return lifecycle.Spec{Input: input}, err
		}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/chat/", chats.Chat())
	mux.HandleFunc("/desk/page.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, bundle) })
	mux.HandleFunc("/desk/", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(example, "public")+"/")
	})
	w := &world{t: t, lc: lc, handler: mux}
	w.serve()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() {
		chats.Close()
		_ = w.server.Config.Close()
		cancel()
		require.NoError(t, <-served)
	})
	return w
}

// enter writes into the first field with this label, and sends it.
func (o *window) enter(label, text string) {
	o.t.Helper()
	o.run(`const field = [...document.querySelectorAll("label")].find((l) => l.textContent.startsWith(` + quote(label) +
		`)).querySelector("input"); field.value = ` + quote(text) + `; field.form.requestSubmit();`)
}

// P4: a page of 60 lines with useChat: a message, a question, a reload, and an approval, while a second
// page that is stale rejects it.
func TestP4APageWithUseChat(t *testing.T) {
	w := openChat(t)
	o := w.open("ada", "")
	o.until(`document.querySelector("form")`)
	o.enter("Message", "Refund, please.")
	o.sees("Which order?")
	o.enter("Answer", "A-1")
	o.sees("It cannot be recalled.")
	o.sees("9007199254740993")
	second := w.open("ada", "")
	second.sees("It cannot be recalled.")
	o.reload()
	o.sees("It cannot be recalled.")
	o.press("Approve")
	o.sees("Order A-1 is paid back.")
	second.press("Reject")
	second.sees("approved: Decided by ada.")
	second.sees("Order A-1 is paid back.")
	run, err := w.lc.Runs(t.Context(), lifecycle.Query{})
	require.NoError(t, err)
	require.Len(t, run.Runs, 1)
}
