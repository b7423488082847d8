package examples_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// database is a host's database: the server of INTERLUDE_POSTGRES, or a private one, which ends
// with the process.
var database = sync.OnceValue(func() string {
	if dsn := os.Getenv("INTERLUDE_POSTGRES"); dsn != "" {
		return dsn
	}
	server, err := pglocal.Start(context.Background(), pglocal.Options{})
	must(err)
	return server.DSN("")
})

// An order and its run are stored together, or neither is.
func Example_transaction() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, database()) // the host's pool
	must(err)
	defer pool.Close()
	const schema = "examples_transaction" // a host uses the default, "interlude"
	defer func() { _, err := pool.Exec(ctx, "DROP SCHEMA "+schema+" CASCADE"); must(err) }()
	st, err := postgres.New(ctx, pool, postgres.Options{Schema: schema})
	must(err)
	defer st.Close()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: shipper, Forgiving: true})
	must(err)
	defer lc.Close()
	_, err = pool.Exec(ctx, "CREATE TABLE "+schema+".orders (id text PRIMARY KEY, amount int CHECK (amount > 0))")
	must(err)

	order := func(id string, amount int) error {
		return st.Transact(ctx, pool, func(tx pgx.Tx, in lifecycle.Store) error {
			if _, err := lc.On(in).Submit(ctx, lifecycle.Spec{ID: id, Prompt: "Ship " + id + "."}); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO "+schema+".orders VALUES ($1, $2)", id, amount)
			return err
		})
	}
	fmt.Println("order-7 refused:", order("order-7", 3) != nil)
	fmt.Println("order-8 refused:", order("order-8", -1) != nil)
	_, err = lc.Get(ctx, "order-8")
	fmt.Println("order-8 was never submitted:", errors.Is(err, lifecycle.ErrNotFound))
	// Output:
	// order-7 refused: false
	// order-8 refused: true
	// order-8 was never submitted: true
}

// Two nodes share a database. Either can execute a turn, and either accepts the reply.
func Example_twoNodes() {
	ctx := context.Background()
	const schema = "examples_nodes"
	node := func() (*lifecycle.Lifecycle, func()) {
		st, err := postgres.Open(ctx, database(), postgres.Options{Schema: schema})
		must(err)
		lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: shipper, Forgiving: true})
		must(err)
		stop := serve(lc)
		return lc, func() { stop(); lc.Close(); st.Close() }
	}
	one, leaveOne := node()
	two, leaveTwo := node()
	run, err := one.Submit(ctx, lifecycle.Spec{Prompt: "Release version 2."})
	must(err)
	untilAsked(ctx, two, run.ID)
	leaveOne() // this node leaves, but its run continues
	_, err = two.Reply(ctx, run.ID, lifecycle.Reply{ID: 1, Text: "yes"})
	must(err)
	run, err = two.Wait(ctx, run.ID)
	fmt.Println(run.State, run.FinalText, err)
	leaveTwo()
	conn, err := pgx.Connect(ctx, database())
	must(err)
	_, err = conn.Exec(ctx, "DROP SCHEMA "+schema+" CASCADE")
	must(errors.Join(err, conn.Close(ctx)))
	// Output: succeeded shipped <nil>
}
