//go:build !race

package sqlite_test

// randomKills is how many hosts are killed at random moments.
const randomKills = 200
