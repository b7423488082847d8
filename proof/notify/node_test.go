package notify_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// node is a process that executes runs and sends notices.
type node struct {
	Name  string
	Store string // a SQLite file, or the connection string of a PostgreSQL
	Start time.Time
	URL   string // of the receivers; the endpoint's and the node's name follow
	Trap  string // a forbidden address
	Break string // a promise that the node does not keep
}

// The ways to break a node, each of which the judge must find.
const (
	acknowledgesFirst = "acknowledges before it adds"
	noOrder           = "has no order"
)

// secret signs the webhooks.
const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// The endpoints: two whose receivers fail now and then, and one whose address is refused.
var receivers = []string{"a", "b"}

const forbidden = "forbidden"

// onSQLite reports whether the store is a SQLite file.
func (n *node) onSQLite() bool { return cast.OnSQLite(n.Store) }

// faster is the speed of the clock of SQLite's nodes, so that leases of killed nodes end soon.
// PostgreSQL's clock cannot be changed.
const faster = 10

func (n *node) clock() lifecycle.Clock {
	if n.onSQLite() {
		return cast.Clock{Start: n.Start, Factor: faster}
	}
	return lifecycle.SystemClock{}
}

// time is a time of the machine's on the node's clock.
func (n *node) time(d time.Duration) time.Duration {
	if n.onSQLite() {
		return faster * d
	}
	return d
}

func (n *node) open(ctx context.Context) (store.Store, notify.Queue, error) {
	s, err := cast.OpenStore(ctx, n.Store)
	if err != nil {
		return nil, nil, err
	}
	if n.onSQLite() {
		db, err := sql.Open("sqlite", "file:"+n.Store+".notices"+sqliteSettings)
		if err != nil {
			return nil, nil, err
		}
		q, err := notify.OpenSQLite(ctx, db)
		return s, q, err
	}
	cfg, err := pgx.ParseConfig(n.Store)
	if err != nil {
		return nil, nil, err
	}
	q, err := notify.OpenPostgreSQL(ctx, stdlib.OpenDB(*cfg))
	return s, q, err
}

// asksTwice asks two questions, one after the other.
var asksTwice = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if t.Attempt < 3 {
		return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: fmt.Sprint("Question ", t.Attempt)}), nil
	}
	return engine.Done("done"), nil
})

// serve is the main function of a node's process.
func (n *node) serve(ctx context.Context) error {
	s, q, err := n.open(ctx)
	if err != nil {
		return err
	}
	q = breakQueue(q, n.Break)
	lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: asksTwice, Forgiving: true, Clock: n.clock(),
		OnInterrupt: lifecycle.Repeat, Poll: n.time(50 * time.Millisecond), Lease: n.time(time.Second),
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	network := netguard.Network{PlainHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	var endpoints []notify.Endpoint
	for _, name := range append([]string{forbidden}, receivers...) {
		address := n.URL + "/" + name + "/" + n.Name
		retry := notify.Retry{Attempts: 1000, First: n.time(20 * time.Millisecond), Max: n.time(100 * time.Millisecond)}
		if name == forbidden {
			address, retry.Attempts = n.Trap, 1
		}
		hook, err := notify.NewWebhook(notify.WebhookConfig{URL: address, Secrets: []string{secret}, Network: network})
		if err != nil {
			return err
		}
		endpoints = append(endpoints, notify.Endpoint{Name: name, Sender: hook, Retry: retry,
			Timeout: 300 * time.Millisecond})
	}
	notifier, err := notify.New(notify.Config{Client: lc.Client, Queue: q, Endpoints: endpoints, Clock: n.clock(),
		Poll: n.time(200 * time.Millisecond), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { notifier.Serve(ctx) })
	err = lc.Serve(ctx)
	group.Wait()
	return errors.Join(err, errors.New("it was not killed"))
}

// breakQueue returns a queue that does not keep a promise.
func breakQueue(q notify.Queue, promise string) notify.Queue {
	switch promise {
	case acknowledgesFirst:
		return lateQueue{q}
	case noOrder:
		return looseQueue{q}
	}
	return q
}

// lateQueue says that notices were added before they are.
type lateQueue struct{ notify.Queue }

func (q lateQueue) Add(_ context.Context, endpoint string, entries []notify.Entry, now time.Time) error {
	entries = append([]notify.Entry(nil), entries...)
	time.AfterFunc(time.Second, func() { _ = q.Queue.Add(context.Background(), endpoint, entries, now) })
	return nil
}

// looseQueue assigns each notice to a separate run.
type looseQueue struct{ notify.Queue }

func (q looseQueue) Add(ctx context.Context, endpoint string, entries []notify.Entry, now time.Time) error {
	loose := make([]notify.Entry, len(entries))
	for i, e := range entries {
		loose[i] = notify.Entry{RunID: e.ID(), Seq: e.Seq, Body: e.Body}
	}
	return q.Queue.Add(ctx, endpoint, loose, now)
}
