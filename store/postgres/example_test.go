package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// database is the connection string of a host's database. Here it is on the server that
// INTERLUDE_POSTGRES names, or on a private one, which ends with the process.
var database = sync.OnceValue(func() string {
	if dsn := os.Getenv("INTERLUDE_POSTGRES"); dsn != "" {
		return dsn
	}
	server, err := pglocal.Start(context.Background(), pglocal.Options{})
	if err != nil {
		log.Panic(err)
	}
	return server.DSN("")
})

// drop removes a schema that an example has made.
func drop(schema string) {
	conn, err := pgx.Connect(context.Background(), database())
	if err != nil {
		log.Panic(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+
		" CASCADE"); err != nil {
		log.Panic(err)
	}
}

// shipper asks before it ships.
var shipper = engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) == 0 {
		return engine.Ask(engine.ConfirmOf("Ship it?")), nil
	}
	if yes, ok := t.Answers[0].Yes(); !yes || !ok {
		return engine.Done("not shipped"), nil
	}
	return engine.Done("shipped"), nil
})

// Every node runs this program. Any of them can execute a turn or accept a reply.
func ExampleOpen() {
	ctx, leave := context.WithCancel(context.Background())
	schema := "example_" + rand.Text() // a host leaves it out: "interlude"
	defer drop(schema)
	st, err := postgres.Open(ctx, database(), postgres.Options{Schema: schema})
	if err != nil {
		log.Panic(err)
	}
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: shipper, Forgiving: true})
	if err != nil {
		log.Panic(err)
	}
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()

	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	if err != nil {
		log.Panic(err)
	}
	for ev, err := range lc.Events(ctx, run.ID, 0) {
		if err != nil {
			log.Panic(err)
		}
		if ev.Type == "user.input.required" {
			if _, err := lc.Reply(ctx, run.ID, interaction.Reply{ID: 1, Text: "yes", Key: "msg-42",
				Actor: lifecycle.Actor{ID: "ada"}}); err != nil {
				log.Panic(err)
			}
		}
	}
	run, err = lc.Get(ctx, run.ID)
	fmt.Println(run.State, run.FinalText, err)

	leave()
	fmt.Println(<-served)
	// Output:
	// succeeded shipped <nil>
	// <nil>
}

// An order and its run are there together, or neither is.
func ExampleStore_In() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, database()) // the host's own
	if err != nil {
		log.Panic(err)
	}
	defer pool.Close()
	schema := "example_" + rand.Text()
	defer drop(schema)
	st, err := postgres.New(ctx, pool, postgres.Options{Schema: schema})
	if err != nil {
		log.Panic(err)
	}
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: shipper, Forgiving: true})
	if err != nil {
		log.Panic(err)
	}
	orders := pgx.Identifier{schema, "orders"}.Sanitize() // a table of the host's own; here it goes with the schema
	if _, err := pool.Exec(ctx, "CREATE TABLE "+orders+
		" (id text PRIMARY KEY, amount int CHECK (amount > 0))"); err != nil {
		log.Panic(err)
	}

	order := func(id string, amount int) error {
		return st.Transact(ctx, pool, func(tx pgx.Tx, in store.Store) error {
			if _, err := lc.On(in).Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Ship " + id + "."}); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO "+orders+" VALUES ($1, $2)", id, amount)
			return err
		})
	}
	fmt.Println("order-7 refused:", order("order-7", 3) != nil)
	fmt.Println("order-8 refused:", order("order-8", -1) != nil)

	run, err := lc.Get(ctx, "order-7")
	fmt.Println("order-7:", run.State, err)
	_, err = lc.Get(ctx, "order-8")
	fmt.Println("order-8 was never submitted:", errors.Is(err, lifecycle.ErrNotFound))
	// Output:
	// order-7 refused: false
	// order-8 refused: true
	// order-7: queued <nil>
	// order-8 was never submitted: true
}

// A step of a function and its record are one transaction: there is one row, whatever crashes.
func ExampleStore_Transactions() {
	ctx, leave := context.WithCancel(context.Background())
	pool, err := pgxpool.New(ctx, database()) // the host's own
	if err != nil {
		log.Panic(err)
	}
	defer pool.Close()
	schema := "example_" + rand.Text()
	defer drop(schema)
	st, err := postgres.New(ctx, pool, postgres.Options{Schema: schema})
	if err != nil {
		log.Panic(err)
	}
	defer st.Close()
	parcels := pgx.Identifier{schema, "parcels"}.Sanitize() // a table of the host's own
	if _, err := pool.Exec(ctx, "CREATE TABLE "+parcels+" (id serial, address text)"); err != nil {
		log.Panic(err)
	}

	ship := flow.New("ship", func(c *flow.Ctx, address string) (string, error) {
		insert := func(ctx context.Context, tx pgx.Tx) (id int, err error) {
			err = tx.QueryRow(ctx, "INSERT INTO "+parcels+" (address) VALUES ($1) RETURNING id", address).Scan(&id)
			return id, err
		}
		parcel, err := flow.StepIn(c, "ship", st.Transactions(pool), insert)
		return fmt.Sprintf("parcel %d to %s", parcel, address), err
	})
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: ship, Forgiving: true, OnInterrupt: lifecycle.Repeat})
	if err != nil {
		log.Panic(err)
	}
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	run, err := lc.Submit(ctx, lifecycle.Spec{Prompt: "Rome"})
	if err == nil {
		run, err = lc.Wait(ctx, run.ID)
	}
	fmt.Println(run.FinalText, err)
	leave()
	fmt.Println(<-served)
	// Output:
	// parcel 1 to Rome <nil>
	// <nil>
}
