package notify_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

var (
	kills = flag.Int("kills", 2, "how often a node is killed while it sends, on each store, after all were killed")
	runs  = flag.Int("runs", 5, "how many runs there are")
)

// arrival is a webhook as a receiver has seen it.
type arrival struct {
	id       string
	accepted bool
}

// world has the receivers, the nodes, and the judge's data.
type world struct {
	*testing.T

	client *lifecycle.Client
	queue  notify.Queue
	node   node

	mu       sync.Mutex
	arrivals map[string][]arrival // guarded by mu; by endpoint, in order
	wrong    []string             // guarded by mu
	well     bool                 // guarded by mu; the receivers have no troubles any more
	kills    int
	doomed   int                   // guarded by mu; so many nodes are yet to be killed while they send
	nodes    map[string]*cast.Host // guarded by mu
	killed   int                   // guarded by mu
}

// drill is the whole story; it returns the judge's findings.
func drill(t *testing.T, n node, kills int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(120+20*kills)*time.Second)
	defer cancel()
	w := &world{T: t, node: n, arrivals: make(map[string][]arrival), nodes: make(map[string]*cast.Host), kills: kills,
		doomed: kills}
	w.node.Start = time.Now()
	s, q, err := w.node.open(ctx)
	require.NoError(t, err)
	defer s.Close()
	w.queue = q
	w.client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Clock: w.node.clock()})
	require.NoError(t, err)
	defer w.client.Close()
	for _, name := range append([]string{forbidden}, receivers...) {
		_, err := w.client.CreateFeed(ctx, notify.FeedName(name), time.Hour)
		require.NoError(t, err)
	}

	trap := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		w.blame("a forbidden address was reached")
	}))
	trap.Listener.Close()
	trap.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.2:0")
	require.NoError(t, err)
	trap.Start()
	defer trap.Close()
	receiver := httptest.NewServer(w)
	defer receiver.Close()
	w.node.URL, w.node.Trap = receiver.URL, trap.URL
	names := []string{"node-0", "node-1", "node-2"}
	for _, name := range names {
		w.start(name)
	}
	defer w.stop()

	var ids []string
	for i := range *runs {
		ids = append(ids, fmt.Sprintf("run-%03d", i))
		require.NoError(t, cast.Submit(ctx, w.client, lifecycle.Spec{ID: ids[i], Prompt: "x", MaxRepeats: 1_000_000}))
	}
	// All nodes die at once, right after events were stored; later, each while its webhook is on
	// the way.
	for answered := 0; answered == 0; rest(ctx) {
		answered = w.answer(ctx)
	}
	for _, name := range names {
		w.kill(name)
	}
	w.restart()
	for !w.ended(ctx, ids) || w.toKill() {
		w.answer(ctx)
		w.restart()
		rest(ctx)
	}
	w.mu.Lock()
	w.well = true
	w.mu.Unlock()
	for !w.settled(ctx) {
		w.restart()
		rest(ctx)
	}
	return w.judge(ctx, ids)
}

// ServeHTTP receives a webhook, as a receiver that has its troubles.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // its sender was killed
		return
	}
	id, err := notify.Verify(r.Header, body, time.Now(), secret)
	var content struct{ Data lifecycle.Event }
	if err != nil || json.Unmarshal(body, &content) != nil ||
		id != fmt.Sprintf("%s/%d", content.Data.RunID, content.Data.Seq) {
		w.blame(fmt.Sprintf("webhook %q: %v: %s", id, err, body))
	}
	path := strings.Split(r.URL.Path, "/") // "", endpoint, node
	trouble, kill := w.receive(path[1], id)
	if kill {
		w.kill(path[2])
	}
	switch trouble {
	case 0:
		rw.WriteHeader(http.StatusInternalServerError)
	case 1:
		http.Redirect(rw, r, w.node.Trap, http.StatusTemporaryRedirect)
	case 2:
		<-r.Context().Done() // it hangs
	case 3, 4: // accepted, but the sender need not learn it
		panic(http.ErrAbortHandler)
	}
}

// receive notes an arrival, and draws what becomes of it, and whether its sender dies now.
func (w *world) receive(endpoint, id string) (trouble int, kill bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	trouble = sample.N(16)
	if w.well {
		trouble = 5
	}
	w.arrivals[endpoint] = append(w.arrivals[endpoint], arrival{id, trouble > 3})
	if kill = w.doomed > 0 && sample.N(12) == 0; kill {
		w.doomed--
	}
	return trouble, kill
}

func (w *world) blame(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, text)
}

// toKill reports whether nodes are still to be killed.
func (w *world) toKill() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := 0
	for _, total := range w.arrivals {
		sent += len(total)
	}
	return w.doomed > 0 && sent < 40*w.kills // kill only while there is something to send
}

// start starts a node.
func (w *world) start(name string) {
	n := w.node
	n.Name = name
	host, err := cast.StartHost(context.Background(), n, cast.HostOptions{}) // stop kills it
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[name] = host
}

// kill kills a node, if it is there.
func (w *world) kill(name string) {
	w.mu.Lock()
	host := w.nodes[name]
	delete(w.nodes, name)
	w.killed++
	w.mu.Unlock()
	if host != nil {
		_ = host.Kill() // it may have ended
	}
}

// restart starts the nodes that were killed.
func (w *world) restart() {
	for i := range 3 {
		name := fmt.Sprint("node-", i)
		w.mu.Lock()
		missing := w.nodes[name] == nil
		w.mu.Unlock()
		if missing {
			w.start(name)
		}
	}
}

// stop ends all nodes.
func (w *world) stop() {
	for i := range 3 {
		w.kill(fmt.Sprint("node-", i))
	}
}

// answer answers all open questions, and returns how many there were.
func (w *world) answer(ctx context.Context) int {
	n, err := cast.AnswerAll(ctx, w.client, func(lifecycle.InboxQuestion) string { return "yes" })
	require.NoError(w, err)
	return n
}

func (w *world) ended(ctx context.Context, ids []string) bool {
	ended, err := cast.Ended(ctx, w.client, ids...)
	require.NoError(w, err)
	return ended
}

// settled reports whether all was read and nothing is pending, for long enough to be sure that
// nothing that a node has in hand is added later.
func (w *world) settled(ctx context.Context) bool {
	for range 2 {
		feeds, err := w.client.Feeds(ctx)
		require.NoError(w, err)
		for _, f := range feeds {
			count, err := w.queue.Count(ctx, strings.TrimPrefix(f.Name, "notify/"))
			require.NoError(w, err)
			if f.Unacked > 0 || count.Pending > 0 {
				return false
			}
		}
		if w.node.Break == acknowledgesFirst {
			for range 75 {
				rest(ctx)
			}
		}
	}
	return true
}

// judge compares what arrived with the events of the runs.
func (w *world) judge(ctx context.Context, ids []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0
	for _, id := range ids {
		run, err := w.client.Get(ctx, id)
		require.NoError(w, err)
		total += int(run.Seq)
		for _, endpoint := range receivers {
			w.wrong = append(w.wrong, judgeRun(endpoint, id, run.Seq, w.arrivals[endpoint])...)
		}
	}
	if w.node.Break == "" {
		count, err := w.queue.Count(ctx, forbidden)
		require.NoError(w, err)
		if count.Dead != total {
			w.wrong = append(w.wrong, fmt.Sprintf("%d dead letters, want one for each of %d events", count.Dead, total))
		}
	}
	w.Logf("%d runs with %d events, %d kills; %d and %d webhooks", len(ids), total, w.killed,
		len(w.arrivals[receivers[0]]), len(w.arrivals[receivers[1]]))
	return w.wrong
}

// judgeRun returns the faults in the webhooks of a run with this many events.
func judgeRun(endpoint, id string, last uint64, arrivals []arrival) (wrong []string) {
	accepted := make(map[uint64]bool)
	for _, a := range arrivals {
		key, err := notify.ParseID(a.id)
		if err != nil || key.RunID != id {
			continue
		}
		for earlier := uint64(1); earlier < key.Seq; earlier++ {
			if !accepted[earlier] {
				wrong = append(wrong, fmt.Sprintf("%s: %s was sent before %d was accepted", endpoint, a.id, earlier))
			}
		}
		accepted[key.Seq] = accepted[key.Seq] || a.accepted
	}
	for seq := uint64(1); seq <= last; seq++ {
		if !accepted[seq] {
			wrong = append(wrong, fmt.Sprintf("%s: %s/%d was never accepted", endpoint, id, seq))
		}
	}
	return wrong
}

// L4: the judge detects missing and misordered events.
func TestL4TheJudge(t *testing.T) {
	good := []arrival{{"r/1", false}, {"other/9", true}, {"r/1", true}, {"r/2", true}, {"r/1", true}, {"r/3", true}}
	require.Empty(t, judgeRun("a", "r", 3, good))
	require.Equal(t, []string{"a: r/4 was never accepted"}, judgeRun("a", "r", 4, good))
	require.Equal(t, []string{"a: r/2 was sent before 1 was accepted"}, judgeRun("a", "r", 2,
		[]arrival{{"r/1", false}, {"r/2", false}, {"r/1", true}, {"r/2", true}}))
}

// rest waits a moment for the nodes, which are other processes.
func rest(ctx context.Context) { cast.Pause(ctx, 20*time.Millisecond) }
