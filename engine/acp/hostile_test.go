package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// hostileArg is the first argument of a hostile agent process. The second selects its behaviour,
// see hostileMain; the third is the folder for its process id.
const hostileArg = "acp-hostile"

// hostileMain opens sessions like any agent. The first prompt does the word before the plus sign of
// the second argument, later prompts the word after it.
func hostileMain(how, dir string) int {
	time.AfterFunc(lifetime, func() { os.Exit(3) })
	first, later, _ := strings.Cut(how, "+")
	out := bufio.NewWriter(os.Stdout)
	write := func(format string, args ...any) {
		fmt.Fprintf(out, format+"\n", args...)
		_ = out.Flush()
	}
	update := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}`
	in := bufio.NewReader(os.Stdin)
	for {
		body, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var call struct {
			ID     json.Number `json:"id"`
			Method string      `json:"method"`
		}
		if json.Unmarshal(body, &call) != nil {
			continue
		}
		id := string(call.ID)
		switch call.Method {
		case "initialize":
			write(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentInfo":{"name":"hostile","version":"1"}}}`, id)
			continue
		case "session/new":
			write(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}`, id)
			continue
		case "session/prompt":
		default:
			continue
		}
		if err := makeFile(dir, "self", strconv.Itoa(os.Getpid())); err != nil {
			return 4
		}
		switch first {
		case "parks then floods": // and stops reading
			write(update)
			write(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, id)
			flood(out, 20_000)
			select {}
		case "floods":
			write(update)
			flood(out, 20_000)
			select {}
		case "asks on and on": // and reads every answer
			go func() { _, _ = io.Copy(io.Discard, in) }()
			for {
				flood(out, 1)
			}
		case "text id":
			write(update)
			write(`{"jsonrpc":"2.0","id":%q,"result":{"stopReason":"end_turn"}}`, id)
		case "other id":
			write(`{"jsonrpc":"2.0","id":"x-%s","result":{"stopReason":"end_turn"}}`, id)
		case "null id":
			write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse"}}`)
		case "text error":
			write(`{"jsonrpc":"2.0","id":%s,"error":"the model is away"}`, id)
		case "odd error":
			write(`{"jsonrpc":"2.0","id":%s,"error":{"code":"E1","message":["no"]}}`, id)
		case "odd result":
			write(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":17}}`, id)
		case "long answer": // its id comes last
			write(`{"jsonrpc":"2.0","result":{"stopReason":"end_turn","x":%q},"id":%s}`, strings.Repeat("x", 9<<20), id)
		case "long request":
			write(`{"jsonrpc":"2.0","method":"fs/read_text_file","params":{"path":%q},"id":7}`, strings.Repeat("x",
				9<<20))
		case "long id":
			write(`{"jsonrpc":"2.0","method":"fs/read_text_file","params":{},"id":%q}`, strings.Repeat("x", 1<<20))
		}
		if later != "" {
			first = later
		}
	}
}

// flood requests files, which no client here offers.
func flood(out *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"f-%d","method":"fs/read_text_file","params":{"sessionId":"s","path":"/etc/passwd"}}`+"\n", i)
	}
	_ = out.Flush()
}

func hostile(tb testing.TB, how string, change func(*acp.Config)) *run {
	tb.Helper()
	return newRun(tb, "", func(c *acp.Config) {
		c.Name, c.Args, c.Grace = "hostile", []string{hostileArg, how, "{artifacts}"}, grace
		if change != nil {
			change(c)
		}
	})
}

// J10, J11: an agent that floods an unread pipe, during or between turns, blocks no one: it is
// ended, and its run ends.
func TestAgentThatFloodsAndDoesNotReadIsEnded(t *testing.T) {
	r := hostile(t, "floods", nil)
	o, err := r.execute(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, engine.Failed, o.Process.Status)
	require.Equal(t, fsm.CodeEngineFailed, o.Process.Code)
	require.Contains(t, o.Process.Detail, "does not read its input")
	require.False(t, lives(r.pid("self")))

	r = hostile(t, "parks then floods", nil)
	lost := make(chan string, 1)
	t.Cleanup(r.engine.OnLoss(func(id string, _ error) { lost <- id }))
	require.Equal(t, "hi", r.answer("go").FinalText)
	select {
	case id := <-lost: // D6
		require.Equal(t, "r1", id)
	case <-time.After(patience):
		t.Fatal("the process of a parked run floods for ever")
	}
	require.False(t, lives(r.pid("self")))
	_, err = r.execute(t.Context(), "on")
	require.ErrorContains(t, err, string(fsm.CodeInteractionProcessLost))
}

// J10: no agent output delays a turn's end: not the idle limit, which counts signs of work only,
// not the turn limit, not a cancel.
func TestFloodDoesNotDelayTheEndOfATurn(t *testing.T) {
	many := func(c *acp.Config) { c.MaxStream, c.MaxTranscript = 1<<30, 1<<20 }
	for limit := 300 * time.Millisecond; ; limit *= 3 {
		r := hostile(t, "asks on and on", func(c *acp.Config) { many(c); c.IdleLimit = limit })
		o, err := r.execute(t.Context(), "go")
		require.NoError(t, err)
		require.Equal(t, engine.TimedOut, o.Process.Status, o.Process.Detail)
		require.Contains(t, o.Process.Detail, limit.String())
		if _, err := os.Stat(filepath.Join(r.turn.ArtifactDir, "self")); err != nil && limit < patience {
			continue // on a busy machine it was ended before the flood
		}
		require.False(t, lives(r.pid("self")))
		break
	}

	r := hostile(t, "asks on and on", many)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan engine.Outcome, 1)
	go func() {
		o, _ := r.execute(ctx, "go")
		done <- o
	}()
	until(t, "the flood runs", func() bool {
		info, err := os.Stat(filepath.Join(r.turn.TranscriptDir, "attempt-1.out"))
		return err == nil && info.Size() > 64<<10
	})
	cancel(engine.ErrCanceled)
	require.Equal(t, engine.Interrupted, (<-done).Process.Status)
	require.False(t, lives(r.pid("self")))
}

// J11: an invalid JSON-RPC answer is accepted where its meaning is clear; otherwise the turn ends
// and says why.
func TestUnreadableAnswerEndsTheTurn(t *testing.T) {
	for how, want := range map[string]string{
		"text id":      "",
		"other id":     "a call that was not made",
		"null id":      "cannot parse",
		"text error":   "the model is away",
		"odd error":    "E1",
		"odd result":   "its answer to session/prompt cannot be read",
		"long answer":  "exceeds the limit of a line",
		"long request": "exceeds the limit of a line",
		"long id":      "the id of a request has",
	} {
		t.Run(how, func(t *testing.T) {
			r := hostile(t, how, nil)
			o, err := r.execute(t.Context(), "go")
			require.NoError(t, err)
			if want == "" {
				require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
				require.Equal(t, "hi", o.FinalText)
				return
			}
			require.Equal(t, engine.Failed, o.Process.Status)
			require.Equal(t, fsm.CodeEngineFailed, o.Process.Code)
			require.Contains(t, o.Process.Detail, want)
			require.False(t, interaction.Read(o.FinalText, o.Output).Done)
		})
	}
}
