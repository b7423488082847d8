//go:build race

package sqlite_test

// With the race detector a host takes a second to start, and dies as it does without: CI kills the
// others without it.
const randomKills = 30
