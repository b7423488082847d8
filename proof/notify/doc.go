// Package notify checks the promises of host/notify (L4) from outside: its queues on SQLite and
// PostgreSQL, and processes that send notices and are killed with kill -9.
package notify
