package frontends_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/memory"
)

var (
	balanced      = flag.Int("balanced", 12, "how many runs there are behind the balancer")
	balancedKills = flag.Int("balanced-kills", 3, "how often a node behind the balancer is killed")
)

// balancer passes connections on to the nodes in turn. It knows nothing of HTTP.
type balancer struct {
	listener    net.Listener
	address     string
	cancel      context.CancelFunc
	connections atomic.Int64
	passing     sync.WaitGroup
}

func listen(ctx context.Context, f *fleet) (*balancer, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &balancer{listener: l, address: "http://" + l.Addr().String(), cancel: cancel}
	b.passing.Go(func() {
		for turn := 0; ; turn++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.connections.Add(1)
			b.passing.Go(func() { pass(ctx, conn, f, turn) })
		}
	})
	return b, nil
}

func (b *balancer) close() {
	_ = b.listener.Close()
	b.cancel()
	b.passing.Wait()
}

// pass passes one connection on to the next node that takes it, until either side ends it.
func pass(ctx context.Context, conn net.Conn, f *fleet, turn int) {
	defer conn.Close()
	addresses := f.addresses()
	for i := range addresses {
		node, err := new(net.Dialer).DialContext(ctx, "tcp",
			strings.TrimPrefix(addresses[(turn+i)%len(addresses)], "http://"))
		if err != nil {
			continue
		}
		defer node.Close()
		stop := context.AfterFunc(ctx, func() { _ = errors.Join(conn.Close(), node.Close()) })
		defer stop()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(node, conn)
			_ = node.Close()
		}()
		_, _ = io.Copy(conn, node)
		_ = conn.Close()
		<-done
		return
	}
}

// crowd are the people who follow and answer through the balancer.
type crowd struct {
	*world

	follower  *http.Client
	connected atomic.Int64
	reloads   atomic.Int64
	blamed    func()

	mu    sync.Mutex
	shown map[string]bool // guarded by mu; runs whose question the inbox has shown
	wrong []string        // guarded by mu
}

func newCrowd(w *world) *crowd {
	return &crowd{world: w, follower: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		shown: make(map[string]bool), blamed: func() {}}
}

func (c *crowd) blamef(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	c.blamed()
}

// live submits a run over the API, follows it, and has its question answered, until the run has
// ended.
func (c *crowd) live(ctx context.Context, id string) error {
	header := http.Header{"Authorization": {"Bearer ada"}, "Content-Type": {"application/json"},
		"Idempotency-Key": {id}}
	a, _ := c.request(ctx, http.MethodPost, "/interlude/api/runs", header, `{"prompt":"Go."}`)
	if a == nil || a.status != http.StatusCreated && a.status != http.StatusOK {
		return fmt.Errorf("%s was not submitted: %+v", id, a)
	}
	var answering errgroup.Group
	answering.Go(func() error { return c.answer(ctx, id) })
	last, err := c.follow(ctx, id)
	if err := errors.Join(err, answering.Wait()); err != nil {
		return err
	}
	run, err := c.client.Get(ctx, id)
	if err == nil && (run.Seq != last || run.State != lifecycle.StateSucceeded) {
		err = fmt.Errorf("%s: followed until %d; it is %s at %d", id, last, run.State, run.Seq)
	}
	return err
}

// answer lets two people answer the question once the stream of the inbox has shown it; one of them
// wins, and the other one learns that.
func (c *crowd) answer(ctx context.Context, id string) error {
	var records []lifecycle.Record
	for !c.isShown(id) || len(records) == 0 {
		cast.Pause(ctx, 5*time.Millisecond)
		var err error
		if records, err = c.client.History(ctx, id); err != nil {
			return err
		}
	}
	q := asked{id, records[0].Question}
	var outs [2]outcome
	var both sync.WaitGroup
	both.Go(func() { outs[0] = c.overAPI(ctx, q) })
	both.Go(func() { outs[1] = c.onPage(ctx, q) })
	both.Wait()
	won := outcome{done: true}
	if outs != [2]outcome{won, {winner: "user_reply ada"}} && outs != [2]outcome{{winner: "user_reply bob"}, won} {
		c.blamef("%s was answered with %+v", id, outs)
	}
	return nil
}

func (c *crowd) isShown(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown[id]
}

// follow follows a run until its end, as an EventSource does, and returns its last event.
func (c *crowd) follow(ctx context.Context, id string) (uint64, error) {
	var last uint64
	for ctx.Err() == nil {
		header := http.Header{"Authorization": {"Bearer ada"}}
		if last > 0 {
			header.Set("Last-Event-ID", strconv.FormatUint(last, 10))
		}
		ended, err := c.stream(ctx, "/interlude/api/runs/"+id+"/events", header, func(m message) {
			var event lifecycle.Event
			err := json.Unmarshal([]byte(m.data), &event)
			if err != nil || event.Seq != last+1 || m.id != strconv.FormatUint(event.Seq, 10) || event.RunID != id {
				c.blamef("%s: after event %d came %+v: %v", id, last, m, err)
			}
			last = event.Seq
		})
		if ended || err != nil {
			return last, err
		}
	}
	return last, ctx.Err()
}

// watchInbox follows the stream of the inbox, and lists the inbox on request.
func (c *crowd) watchInbox(ctx context.Context) {
	header := http.Header{"Authorization": {"Bearer ada"}}
	for ctx.Err() == nil {
		_, err := c.stream(ctx, "/interlude/api/inbox/events", header, func(m message) {
			switch m.event {
			case "reload":
				c.reloads.Add(1)
				c.list(ctx, header)
			case "change":
				var change struct {
					RunID     string `json:"run_id"`
					Questions []any  `json:"questions"`
				}
				if err := json.Unmarshal([]byte(m.data), &change); err != nil {
					c.blamef("inbox: %v: %+v", err, m)
				}
				if len(change.Questions) > 0 {
					c.show(change.RunID)
				}
			default:
				c.blamef("inbox: %+v", m)
			}
		})
		if err != nil && ctx.Err() == nil {
			c.blamef("inbox: %v", err)
		}
	}
}

func (c *crowd) list(ctx context.Context, header http.Header) {
	a, _ := c.request(ctx, http.MethodGet, "/interlude/api/inbox?limit=1000", header, "")
	var inbox struct {
		Questions []struct {
			RunID string `json:"run_id"`
		} `json:"questions"`
	}
	if a == nil {
		return
	}
	if err := json.Unmarshal(a.body, &inbox); err != nil || a.status != http.StatusOK {
		c.blamef("inbox: %d %s", a.status, a.body)
	}
	for _, q := range inbox.Questions {
		c.show(q.RunID)
	}
}

func (c *crowd) show(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown[run] = true
}

// message is a server-sent event.
type message struct{ id, event, data string }

// stream reads one connection's messages. It reports whether no message follows, ever.
func (c *crowd) stream(ctx context.Context, path string, header http.Header, each func(message)) (ended bool, _ error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address()+path, nil)
	if err != nil {
		return false, err
	}
	r.Header = header
	res, err := c.follower.Do(r)
	if err != nil { // the node was killed, or none serves
		cast.Pause(ctx, sample.N(20*time.Millisecond))
		return false, nil //nolint:nilerr // an EventSource connects again
	}
	defer res.Body.Close()
	c.connected.Add(1)
	switch {
	case res.StatusCode == http.StatusNoContent:
		return true, nil
	case res.StatusCode >= http.StatusInternalServerError:
		return false, nil
	case res.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%s: %s", path, res.Status)
	}
	var m message
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil { // a message without its end does not count
			return false, nil //nolint:nilerr // an EventSource connects again
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "":
			if line == "\n" && m.data != "" {
				each(m)
			}
			if line == "\n" {
				m = message{}
			}
		}
	}
}

// hookName and hookSecret are the webhook endpoint's.
const (
	hookName   = "desk"
	hookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

// receiver receives webhooks.
type receiver struct {
	mu      sync.Mutex
	arrived map[string]int // guarded by mu; by id
	wrong   []string       // guarded by mu
}

func (h *receiver) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // its sender was killed
		return
	}
	id, err := notify.Verify(r.Header, body, time.Now(), hookSecret)
	var content struct{ Data lifecycle.Event }
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || json.Unmarshal(body, &content) != nil ||
		id != fmt.Sprintf("%s/%d", content.Data.RunID, content.Data.Seq) {
		h.wrong = append(h.wrong, fmt.Sprintf("webhook %q: %v: %s", id, err, body))
	}
	h.arrived[id]++
}

func (h *receiver) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.arrived[id] > 0
}

func (h *receiver) problems() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.wrong)
}

// cutAfter cuts each stream after so many texts.
type cutAfter struct {
	http.ResponseWriter

	texts int
}

func (c *cutAfter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutAfter) FlushError() error {
	if c.texts--; c.texts < 0 {
		panic(http.ErrAbortHandler)
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// L3: the followers notice a stream that doubles or loses events when they connect again.
func TestL3BrokenStreamsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		cursor func(after string) string
		found  bool
	}{
		"goes on from the cursor": {func(after string) string { return after }, false},
		"goes on before it":       {func(string) string { return "1" }, true},
		"goes on behind it": {func(after string) string {
			n, _ := strconv.Atoi(after) // a follower has sent it
			return strconv.Itoa(n + 1)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWorld(t, memory.New(), func(h http.Handler, _ *lifecycle.Client) http.Handler {
				return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if after := r.Header.Get("Last-Event-ID"); after != "" {
						r.Header.Set("Last-Event-ID", c.cursor(after))
					}
					if strings.HasSuffix(r.URL.Path, "/events") {
						rw = &cutAfter{rw, 4}
					}
					h.ServeHTTP(rw, r)
				})
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			crowd := newCrowd(w)
			crowd.shown["r"] = true
			crowd.blamed = func() {
				if c.found {
					cancel() // who is misled may never see the end
				}
			}
			err := crowd.live(ctx, "r")
			if c.found {
				require.NotEmpty(t, crowd.wrong, "nobody noticed")
				return
			}
			require.NoError(t, err)
			require.Empty(t, crowd.wrong)
		})
	}
}
