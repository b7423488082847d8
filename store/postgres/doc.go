// Package postgres keeps runs in PostgreSQL, for any number of hosts that share one database: same calls, same semantics, same suite
// as in one process.
package postgres
