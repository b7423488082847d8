//go:build unix

package pglocal_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// A private server crashes, and recovers its committed data.
func Example() {
	ctx := context.Background()
	server, err := pglocal.Start(ctx, pglocal.Options{Settings: map[string]string{"shared_buffers": "32MB"}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop()

	conn, err := pgx.Connect(ctx, server.DSN(""))
	if err != nil {
		log.Panic(err)
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE note AS SELECT 'committed' AS text"); err != nil {
		log.Panic(err)
	}
	if err := server.Kill(); err != nil {
		log.Panic(err)
	}
	fmt.Println("reachable:", conn.Ping(ctx) == nil)
	if err := server.Resume(ctx); err != nil {
		log.Panic(err)
	}
	conn, err = pgx.Connect(ctx, server.DSN("")) // on the same port
	if err != nil {
		log.Panic(err)
	}
	var text string
	if err := conn.QueryRow(ctx, "SELECT text FROM note").Scan(&text); err != nil {
		log.Panic(err)
	}
	fmt.Println(text)
	_ = conn.Close(ctx)

	// Output:
	// reachable: false
	// committed
}
