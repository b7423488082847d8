//go:build race

package contract_test

// Mutants are judged by one goroutine, ten times as slowly when it is watched. CI tries all of them
// without the race detector.
const eachMutant = 64
