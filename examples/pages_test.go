package examples_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/host/link"
	"github.com/interlude-go/interlude/host/mcp"
	"github.com/interlude-go/interlude/host/notify"
	"github.com/interlude-go/interlude/host/otel"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

// This file has the programs on pages in docs/ that no other test runs; internal/docs compares it
// with the pages.

var ada = lifecycle.Actor{ID: "ada"}

// newHost serves until the test ends.
func newHost(t *testing.T, cfg lifecycle.Config) *lifecycle.Lifecycle {
	t.Helper()
	lc, err := lifecycle.New(cfg)
	require.NoError(t, err)
	t.Cleanup(lc.Close)
	t.Cleanup(serve(lc))
	return lc
}

// asked submits a run and returns it once it waits for an answer.
func asked(t *testing.T, lc *lifecycle.Lifecycle, spec lifecycle.Spec) lifecycle.Run {
	t.Helper()
	run, err := lc.Submit(t.Context(), spec)
	require.NoError(t, err)
	untilAsked(t.Context(), lc, run.ID)
	return run
}

func ended(t *testing.T, lc *lifecycle.Lifecycle, id string) lifecycle.Run {
	t.Helper()
	run, err := lc.Wait(t.Context(), id)
	require.NoError(t, err)
	return run
}

type (
	// Order, Shipped, Review and Part are data of the functions below.
	Order struct {
		Customer string `json:"customer"`
		Amount   int    `json:"amount"`
	}
	Shipped struct {
		Charge string `json:"charge"`
	}
	Review struct {
		OK bool `json:"ok"`
	}
	Part struct {
		N int `json:"n"`
	}
	// bankAccount counts charges and refunds.
	bankAccount struct{ charged, refunded int }
)

var bank = new(bankAccount)

func (b *bankAccount) Charge(_ context.Context, key string, _ int) (string, error) {
	b.charged++
	return "charge " + key, nil
}

func (b *bankAccount) Refund(context.Context, string) error {
	b.refunded++
	return nil
}

var orders = flow.New("order", func(c *flow.Ctx, in Order) (out Shipped, err error) {
	out.Charge, err = flow.Step(c, "charge", func(ctx context.Context) (string, error) {
		return bank.Charge(ctx, flow.Key(ctx), in.Amount)
	}, flow.Policy{Retries: 3})
	if err != nil {
		return out, err
	}
	c.Defer("refund", func(ctx context.Context) error { return bank.Refund(ctx, out.Charge) })
	where, err := flow.Ask[string](c, "address", engine.Question{Kind: engine.OpenText, Prompt: "Ship where?"})
	if err != nil {
		return out, err
	}
	err = c.Sleep(7 * 24 * time.Hour)
	if err == nil && where == "" {
		err = errors.New("no address")
	}
	return out, err
})

// docs/flow.md, an order.
func TestAnOrderThatAsksAndSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		*bank = bankAccount{}
		ctx, st := t.Context(), memory.New()
		host := newHost(t, lifecycle.Config{Store: st, Engine: orders, Poll: time.Hour, Lease: 24 * time.Hour,
			Forgiving: true, OnInterrupt: lifecycle.Repeat})

		lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: orders, Forgiving: true,
			OnInterrupt: lifecycle.Repeat})
		require.NoError(t, err)
		run, err := lc.Submit(ctx, lifecycle.Spec{Input: []byte(`{"customer":"ada"}`)})
		require.NoError(t, err)
		lc.Close()
		untilAsked(ctx, host, run.ID)
		_, err = host.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "Rome"})
		require.NoError(t, err)
		run = ended(t, host, run.ID)
		require.Equal(t, lifecycle.StateSucceeded, run.State)
		require.GreaterOrEqual(t, run.FinishedAt.Sub(run.CreatedAt), 7*24*time.Hour)
		require.Equal(t, bankAccount{charged: 1}, *bank)
	})
}

// docs/flow.md, child runs and changed code.
func TestChildRunsAndVersions(t *testing.T) {
	reviewer := flow.New("reviewer", func(*flow.Ctx, struct{}) (Review, error) { return Review{OK: true}, nil })
	counter := flow.New("counter", func(_ *flow.Ctx, p Part) (Part, error) { return Part{N: p.N + 1}, nil })
	plan, children := json.RawMessage(`{}`), []engine.Child{{Engine: "counter", InputJSON: []byte(`{"n":1}`)}}
	parent := flow.New("parent", func(c *flow.Ctx, _ struct{}) (string, error) {
		other, err := flow.Spawn(c, "other", engine.Child{Engine: "reviewer", InputJSON: plan})
		if err != nil {
			return "", err
		}
		review, err := flow.Run[Review](c, "review", engine.Child{Engine: "reviewer", InputJSON: plan})
		if err != nil {
			return "", err
		}
		parts, err := flow.RunAll[Part](c, "part", children...)
		if err != nil {
			return "", err
		}
		kid, err := flow.Spawn(c, "mail", engine.Child{Engine: "reviewer", InputJSON: plan})
		if err != nil {
			return "", err
		}
		first, err := flow.WaitAny(c, kid, other)
		if err != nil {
			return "", err
		}
		tax := 0
		if flow.Version(c, "tax", 1) >= 1 {
			tax, err = flow.Step(c, "tax", func(context.Context) (int, error) { return 7, nil })
		}
		if !review.OK || parts[0].N != 2 || first > 1 || tax != 7 {
			return "wrong", err
		}
		return "right", err
	})
	lc := newHost(t, lifecycle.Config{Forgiving: true,
		Engines: map[string]engine.Engine{"parent": parent, "reviewer": reviewer, "counter": counter}})
	run, err := lc.Submit(t.Context(), lifecycle.Spec{Engine: "parent", Input: []byte(`{}`)})
	require.NoError(t, err)
	require.Equal(t, "right", ended(t, lc, run.ID).FinalText)
}

// inTx executes a function in a transaction.
func inTx(ctx context.Context, db *sql.DB, do func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// docs/flow.md and docs/postgres.md: transactions of the host.
func TestTransactionsOfTheHost(t *testing.T) {
	ctx := t.Context()
	dsn, schema := pgtest.Schema(t)
	pool, err := pgxpool.New(ctx, pgtest.With(dsn, "search_path="+schema))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	st, err := postgres.New(ctx, pool, postgres.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	for _, table := range []string{"orders (id text)", "parcels (id serial, address text)",
		"shipped (key text PRIMARY KEY, parcel text)"} {
		_, err := pool.Exec(ctx, "CREATE TABLE "+table)
		require.NoError(t, err)
	}
	db := stdlib.OpenDBFromPool(pool)

	inserted := flow.New("inserted", func(c *flow.Ctx, where string) (string, error) {
		insert := func(ctx context.Context, tx pgx.Tx) (id int, err error) {
			err = tx.QueryRow(ctx, `INSERT INTO parcels (address) VALUES ($1) RETURNING id`, where).Scan(&id)
			return id, err
		}
		parcel, err := flow.StepIn(c, "ship", st.Transactions(pool), insert, flow.Policy{Retries: 3})
		return fmt.Sprint("parcel ", parcel), err
	})
	keyed := flow.New("keyed", func(c *flow.Ctx, where string) (string, error) {
		parcel, err := flow.Step(c, "ship", func(ctx context.Context) (parcel string, err error) {
			err = inTx(ctx, db, func(tx *sql.Tx) error {
				err := tx.QueryRowContext(ctx, `SELECT parcel FROM shipped WHERE key = $1`, flow.Key(ctx)).Scan(&parcel)
				if !errors.Is(err, sql.ErrNoRows) {
					return err
				}
				parcel = "to " + where
				_, err = tx.ExecContext(ctx, `INSERT INTO shipped (key, parcel) VALUES ($1, $2)`, flow.Key(ctx), parcel)
				return err
			})
			return parcel, err
		}, flow.Policy{Retries: 3})
		return parcel, err
	})
	lc := newHost(t, lifecycle.Config{Store: st, Forgiving: true, OnInterrupt: lifecycle.Repeat,
		Engines: map[string]engine.Engine{"inserted": inserted, "keyed": keyed, "default": shipper}})
	for name, want := range map[string]string{"inserted": "parcel 1", "keyed": "to Rome"} {
		run, err := lc.Submit(ctx, lifecycle.Spec{Engine: name, Prompt: "Rome"})
		require.NoError(t, err)
		run = ended(t, lc, run.ID)
		require.Equal(t, want, run.FinalText, run.Error)
	}

	order := func() error {
		err := st.Transact(ctx, pool, func(tx pgx.Tx, in lifecycle.Store) error {
			if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ('order-7')`); err != nil {
				return err
			}
			_, err := lc.On(in).Submit(ctx, lifecycle.Spec{ID: "order-7", Prompt: "Ship order 7."})
			return err
		})
		return err
	}
	require.NoError(t, order())
	untilAsked(ctx, lc, "order-7")

	resize := func() error {
		err := st.SetPool(ctx, lifecycle.Pool{Name: "gpu", Capacity: 8, KeyCapacity: 2})
		return err
	}
	require.NoError(t, resize())
}

// docs/postgres.md, getting started.
func TestPostgreSQLByItsAddress(t *testing.T) {
	t.Setenv("DATABASE_URL", pgtest.DSN(t))
	ctx, stop := context.WithCancel(t.Context())
	agent := shipper

	st, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), postgres.Options{})
	require.NoError(t, err)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: agent, Forgiving: true})
	require.NoError(t, err)
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	require.NoError(t, err)
	go func() {
		untilAsked(ctx, lc, run.ID)
		stop()
	}()
	err = lc.Serve(ctx)
	require.NoError(t, err)
	lc.Close()
	require.NoError(t, st.Close())
}

// docs/production.md: retries, held runs, forks and pruning.
func TestAnOperatorContinuesRuns(t *testing.T) {
	ctx := t.Context()
	lc := newHost(t, lifecycle.Config{Forgiving: true, Engine: engine.Func(
		func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			switch {
			case len(turn.Answers) > 0:
				return engine.Done("done"), nil
			case turn.Prompt == "spend":
				o := engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Where?"})
				o.Usage = engine.Usage{InputTokens: 10}
				return o, nil
			case turn.Attempt == 1:
				return engine.Outcome{}, engine.Hold(engine.CodeEngineFailed, "no key")
			}
			return engine.Outcome{}, errors.New("broken")
		})})
	held := func(id string) lifecycle.Run {
		for ev, err := range lc.Events(ctx, id, 0) {
			require.NoError(t, err)
			if ev.Type == lifecycle.TypeBlocked || ev.Type == lifecycle.TypeYielded {
				break
			}
		}
		run, err := lc.Get(ctx, id)
		require.NoError(t, err)
		return run
	}

	var spec lifecycle.Spec
	spec.Retry = &lifecycle.Retry{Max: 8, Backoff: 2 * time.Second, Jitter: time.Second}
	spec.Prompt = "broken"
	run, err := lc.Submit(ctx, spec)
	require.NoError(t, err)
	run = held(run.ID)
	repeat := func() error {
		ada := lifecycle.Actor{ID: "ada"}
		decision := lifecycle.Resume{Choice: lifecycle.ChoiceRepeat, Version: run.Version, Actor: ada}
		err := lc.Resume(ctx, run.ID, decision)
		return err
	}
	require.NoError(t, repeat())
	require.Equal(t, lifecycle.StateFailed, ended(t, lc, run.ID).State)

	spend := asked(t, lc, lifecycle.Spec{Prompt: "spend", Budget: lifecycle.Budget{Tokens: 1}})
	_, err = lc.Reply(ctx, spend.ID, lifecycle.Reply{ID: 1, Text: "Rome"})
	require.NoError(t, err)
	run = held(spend.ID)
	raise := func() error {
		err := lc.Resume(ctx, run.ID, lifecycle.Resume{
			Choice: lifecycle.ChoiceRaise, Budget: lifecycle.Budget{Tokens: 500_000}, Version: run.Version, Actor: ada,
		})
		return err
	}
	require.NoError(t, raise())
	require.Equal(t, "done", ended(t, lc, run.ID).FinalText)
}

// docs/production.md: a failed run is forked, and old runs are deleted.
func TestForksAndPruning(t *testing.T) {
	ctx := t.Context()
	lc := newHost(t, lifecycle.Config{Engine: engine.Func(
		func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(turn.Answers) > 0 && (turn.Answers[0].ID == 3 || turn.RunID == "order-7-again") {
				return engine.Outcome{}, errors.New("broken")
			}
			return engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: "Where?"}), nil
		})})
	run, err := lc.Submit(ctx, lifecycle.Spec{ID: "order-7", Prompt: "Ship."})
	require.NoError(t, err)
	for ev, err := range lc.Events(ctx, run.ID, 0) {
		require.NoError(t, err)
		if ev.Type == lifecycle.TypeInputRequired {
			q, err := lc.Pending(ctx, run.ID)
			require.NoError(t, err)
			_, err = lc.Reply(ctx, run.ID, lifecycle.Reply{ID: q.ID, Text: "Rome"})
			require.NoError(t, err)
		}
	}

	fork, err := lc.Fork(ctx, run.ID, lifecycle.At{ID: "order-7-again"})
	require.NoError(t, err)
	require.Equal(t, "order-7-again", ended(t, lc, fork.ID).ID)
	otherwise := lifecycle.Reply{Text: "No, to Lyon.", Actor: ada}
	fork, err = lc.Fork(ctx, run.ID, lifecycle.At{Question: 3, Answer: otherwise})
	require.NoError(t, err)
	require.Equal(t, run.ID, fork.ForkedFrom.RunID)

	n, err := lc.Prune(ctx, time.Now().AddDate(0, 0, -30))
	require.NoError(t, err)
	require.Zero(t, n, "they ended just now")
}

// docs/compare.md: an approval with a deadline.
func TestARefundWithADeadline(t *testing.T) {
	ctx, run := t.Context(), "order-7"
	lc := newHost(t, lifecycle.Config{Engine: engine.Func(
		func(_ context.Context, turn engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(turn.Answers) > 0 {
				if yes, _ := turn.Answers[0].Yes(); !yes {
					return engine.Done("not paid back"), nil
				}
				return engine.Done("paid back"), nil
			}
			refund := engine.Question{Kind: engine.Confirm, Only: true, Prompt: "Pay back 84.50 EUR?",
				To: &engine.Audience{Groups: []string{"finance"}},
				Wait: &engine.Wait{End: 72 * time.Hour, Then: engine.ThenDefault,
					Default: &engine.DefaultReply{Text: "no"}}}
			return engine.Ask(refund), nil
		})})
	asked(t, lc, lifecycle.Spec{ID: run, Prompt: "It came broken."})
	ada := lifecycle.Actor{ID: "ada", Groups: []string{"finance"}}
	_, err := lc.Reply(ctx, run, lifecycle.Reply{ID: 1, Text: "maybe", Actor: ada})
	require.ErrorIs(t, err, lifecycle.ErrInvalidReply)
	_, err = lc.Reply(ctx, run, lifecycle.Reply{ID: 1, Text: "yes", Key: "form-42", Actor: ada})
	require.NoError(t, err)
	require.Equal(t, "paid back", ended(t, lc, run).FinalText)
	asked(t, lc, lifecycle.Spec{ID: "order-8", Prompt: "It came broken, too."})
	_, err = lc.Reply(ctx, "order-8", lifecycle.Reply{ID: 1, Text: "no", Actor: ada})
	require.NoError(t, err)
	require.Equal(t, "not paid back", ended(t, lc, "order-8").FinalText)
}

// request sends a request to a handler and returns its status.
func request(t *testing.T, handler http.Handler, method, path, body string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	_, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code
}

// docs/web.md, docs/links.md and docs/protocols.md: front ends of a host.
func TestFrontEndsOfAHost(t *testing.T) {
	st, mux := memory.New(), http.NewServeMux()
	lc := newHost(t, lifecycle.Config{Store: st, Engine: shipper})
	mayI := func(context.Context, lifecycle.Access) error { return nil }
	whoIsIt := func(*http.Request) (lifecycle.Actor, error) { return ada, nil }
	identify := whoIsIt

	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st, Authorize: mayI})
	require.NoError(t, err)
	mux.Handle("/interlude/", web.Handler(client, web.Options{Identify: whoIsIt}))
	require.Equal(t, http.StatusOK, request(t, mux, "GET", "/interlude/api/me", ""))

	frontEnd := web.Handler(client, web.Options{Identify: whoIsIt})
	server := &http.Server{Handler: frontEnd, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute}
	server.RegisterOnShutdown(frontEnd.Close)
	require.NoError(t, server.Shutdown(t.Context()))

	run := asked(t, lc, lifecycle.Spec{Prompt: "Release."})
	runID, question, secret := run.ID, open(t, lc, run.ID), []byte(strings.Repeat("random", 6))
	links, err := link.New(link.Config{Client: lc.Client, URL: "https://example.com/answer/", Name: "Acme",
		Keys: []link.Key{{ID: "2026-03", Secret: secret}}})
	require.NoError(t, err)
	mux.Handle("/answer/", links)
	address, err := links.For(runID, question, link.To("ada"), link.Until(time.Now().Add(48*time.Hour)))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, request(t, mux, "GET", strings.TrimPrefix(address, "https://example.com"), ""))

	tools(t, lc, mux, identify)
	chat(t, lc, mux, identify)
}

// open returns the open question of a run.
func open(t *testing.T, lc *lifecycle.Lifecycle, id string) lifecycle.Question {
	t.Helper()
	q, err := lc.Pending(t.Context(), id)
	require.NoError(t, err)
	return *q
}

func tools(t *testing.T, lc *lifecycle.Lifecycle, mux *http.ServeMux,
	identify func(*http.Request) (lifecycle.Actor, error),
) {
	t.Helper()
	server, err := mcp.New(mcp.Config{Client: lc.Client, Identify: identify, Tools: []mcp.Tool{{
		Name: "release", Description: "Releases a version, after a person's approval.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"version":{"type":"string"}},"required":["version"]}`),
		Spec: func(_ context.Context, caller lifecycle.Actor, arguments json.RawMessage) (lifecycle.Spec, error) {
			return lifecycle.Spec{Input: arguments, Title: "Release"}, nil
		},
	}}})
	require.NoError(t, err)
	handler, err := server.Handler()
	require.NoError(t, err)
	mux.Handle("/mcp", handler)
	require.Equal(t, http.StatusOK, request(t, mux, "POST", "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "initialize",
		"params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}`))
}

func chat(t *testing.T, lc *lifecycle.Lifecycle, mux *http.ServeMux,
	identify func(*http.Request) (lifecycle.Actor, error),
) {
	t.Helper()
	chats, err := ui.New(ui.Config{Client: lc.Client, Identify: identify,
		Start: func(_ context.Context, caller lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			return lifecycle.Spec{Prompt: m.Text}, nil
		}})
	require.NoError(t, err)
	mux.Handle("/chat", chats.Chat())
	mux.Handle("/chat/", chats.Chat())
	mux.Handle("/agui", chats.AGUI())
	require.Equal(t, http.StatusOK, request(t, mux, "POST", "/chat", `{"id": "chat-1", "trigger": "submit-message",
		"messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Release."}]}]}`))
}

// docs/notify.md: endpoints and dead letters.
func TestNoticesOfAHost(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	lc := newHost(t, lifecycle.Config{Engine: shipper})
	secret, slackURL := "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "https://hooks.slack.com/services/x"

	db, err := sql.Open("sqlite",
		"file:notices.db?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	require.NoError(t, err)
	queue, err := notify.OpenSQLite(ctx, db)
	require.NoError(t, err)
	hook, err := notify.NewWebhook(notify.WebhookConfig{URL: "https://example.com/hook", Secrets: []string{secret}})
	require.NoError(t, err)
	slack, err := notify.NewSlack(notify.ChatConfig{URL: slackURL})
	require.NoError(t, err)
	notifier, err := notify.New(notify.Config{Client: lc.Client, Queue: queue, Endpoints: []notify.Endpoint{
		{Name: "billing", Sender: hook},
		{Name: "chat", Sender: slack, Filter: lifecycle.FeedFilter{Types: []string{lifecycle.TypeInputRequired}}},
	}})
	require.NoError(t, err)
	go notifier.Serve(ctx)
	stop()
	require.NoError(t, db.Close())
	deadLetters(t, lc)
}

// refuses is a receiver that has unsubscribed.
type refuses struct{ attempts chan string }

func (r refuses) Send(_ context.Context, n notify.Notice) error {
	r.attempts <- n.ID
	return notify.Permanent(errors.New("unsubscribed"))
}

func deadLetters(t *testing.T, lc *lifecycle.Lifecycle) {
	t.Helper()
	ctx, receiver := t.Context(), refuses{make(chan string, 100)}
	notifier, err := notify.New(notify.Config{Client: lc.Client, Queue: notify.NewMemory(),
		Endpoints: []notify.Endpoint{{Name: "billing", Sender: receiver}}})
	require.NoError(t, err)
	_, err = lc.CreateFeed(ctx, notify.FeedName("billing"), lifecycle.DefaultFeedLag)
	require.NoError(t, err)
	asked(t, lc, lifecycle.Spec{Prompt: "Release."})
	serving, stop := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		notifier.Serve(serving)
		close(served)
	}()
	for range 3 {
		<-receiver.attempts // the third is sent after the first two became dead letters
	}
	stop()
	<-served

	status, err := notifier.Status(ctx)
	require.NoError(t, err)
	dead, err := notifier.DeadLetters(ctx, "billing", notify.Key{}, 100)
	require.NoError(t, err)
	err = notifier.Resend(ctx, "billing", dead[0].ID())
	require.NoError(t, err)
	err = notifier.Discard(ctx, "billing", dead[1].ID())
	require.NoError(t, err)
	require.GreaterOrEqual(t, status[0].Dead, 2)
}

// docs/telemetry.md.
func TestTelemetryOfAHost(t *testing.T) {
	ctx, agent := t.Context(), shipper
	st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	spans := tracetest.NewInMemoryExporter()
	tracerProvider := trace.NewTracerProvider(trace.WithSyncer(spans))
	meterProvider := metric.NewMeterProvider()

	telemetry, err := otel.New(otel.Config{Traces: tracerProvider, Metrics: meterProvider})
	require.NoError(t, err)
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: agent, Forgiving: true,
		Observer: telemetry.Observer()})
	require.NoError(t, err)
	stop, err := telemetry.Gauges(lc.Client, st)
	require.NoError(t, err)
	_, err = lc.Submit(ctx, lifecycle.Spec{Prompt: "Go.", Meta: otel.Inject(ctx, nil)})
	require.NoError(t, err)

	end := serve(lc)
	runs, err := lc.Runs(ctx, lifecycle.Query{})
	require.NoError(t, err)
	untilAsked(ctx, lc, runs.Runs[0].ID)
	end()
	lc.Close()
	require.NoError(t, stop())
	require.Len(t, spans.GetSpans(), 1)
}

// docs/tutorials/deputies.md: the file of the page, and the host that reads it.
func TestDeputiesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/tutorials/deputies.md")
	require.NoError(t, err)
	_, file, _ := strings.Cut(string(page), "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("people.yaml", []byte(file), 0o600))
	agent := shipper

	directory, err := people.Open("people.yaml", nil)
	require.NoError(t, err)
	lc, err := lifecycle.New(lifecycle.Config{Engine: agent, Directory: directory})
	require.NoError(t, err)
	lc.Close()
	absent := time.Date(2026, 12, 14, 23, 0, 0, 0, time.UTC) // the deputyship includes its last day
	principals, err := directory.Principals(t.Context(), "bob", absent)
	require.NoError(t, err)
	require.Len(t, principals, 1)
	principals, err = directory.Principals(t.Context(), "bob", absent.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, principals)
}
