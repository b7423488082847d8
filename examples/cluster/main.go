// Command cluster runs several nodes on one PostgreSQL and checks what they left.
package main

import (
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/jackc/pgx/v5"
)

func main() { _, _ = postgres.Open, pgx.Connect }
