//go:build race && !search

package contract_test

// Mutants are judged by one goroutine, ten times as slowly under the race detector.
const eachMutant = 64
