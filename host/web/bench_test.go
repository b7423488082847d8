package web_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var followers = flag.Int("followers", 100, "how many streams BenchmarkL3Followers opens")

// BenchmarkL3Followers measures the time until all readers have an event. Each reader has its own
// connection and runs in this process; docs/internals/performance.md has the results.
func BenchmarkL3Followers(b *testing.B) {
	ticks := make(chan struct{})
	var talker engine.Func = func(ctx context.Context, turn engine.Turn, sink engine.Sink) (engine.Outcome, error) {
		for range ticks {
			if err := sink.Message(ctx, engine.Message{Text: "tick"}); err != nil {
				return engine.Outcome{}, err
			}
		}
		return engine.Done(turn.Prompt), nil
	}
	lc, err := lifecycle.New(lifecycle.Config{Engine: asker, Engines: map[string]engine.Engine{"talker": talker},
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer lc.Close()
	ctx, cancel := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	defer func() { cancel(); <-served }()
	frontEnd := web.Handler(lc.Client, web.Options{Identify: identify, MaxFollowers: 20_000, MaxFollowersEach: 20_000,
		Logger: slog.New(slog.DiscardHandler)})
	defer frontEnd.Close()
	server := httptest.NewServer(frontEnd)
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")

	b.Run("run", func(b *testing.B) {
		_, err := lc.Submit(ctx, lifecycle.Spec{ID: "talk", Prompt: "x", Engine: "talker"})
		require.NoError(b, err)
		all := openReaders(b, address, "/runs/talk/events", "tick")
		for b.Loop() {
			ticks <- struct{}{}
			all.wait()
		}
		b.ReportMetric(all.memory, "KiB/follower")
		close(ticks)
	})
	b.Run("inbox", func(b *testing.B) {
		all := openReaders(b, address, "/inbox/events", "event: change")
		n := 0
		for b.Loop() {
			n++
			_, err := lc.Submit(ctx, lifecycle.Spec{ID: fmt.Sprint("ask-", n), Prompt: "Ship?"})
			require.NoError(b, err)
			all.wait()
		}
		b.ReportMetric(all.memory, "KiB/follower")
	})
}

// readers read streams. Each counts the lines that contain the word.
type readers struct {
	got    sync.WaitGroup
	memory float64 // KiB per stream, including its reader's share
}

func openReaders(b *testing.B, address, path, word string) *readers {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := new(readers)
	var open sync.WaitGroup
	open.Add(*followers)
	for range *followers {
		conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
		require.NoError(b, err)
		b.Cleanup(func() { conn.Close() })
		_, err = fmt.Fprintf(conn, "GET /interlude/api%s HTTP/1.1\r\nHost: x\r\nX-User: ada\r\n\r\n", path)
		require.NoError(b, err)
		go func() {
			lines := bufio.NewScanner(conn)
			lines.Buffer(make([]byte, 1<<10), 1<<16)
			for begun := false; lines.Scan(); {
				switch {
				case !begun && strings.HasPrefix(lines.Text(), "data:"):
					begun = true
					open.Done()
				case begun && strings.Contains(lines.Text(), word):
					r.got.Done()
				}
			}
		}()
	}
	open.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)
	r.memory = float64(used) / float64(*followers) / 1024
	r.got.Add(*followers)
	return r
}

// wait waits until every reader has the event, and starts the next round.
func (r *readers) wait() {
	r.got.Wait()
	r.got.Add(*followers)
}
