package sample

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
)

// SeedEnv is the environment variable with the seed of random choices in tests: the times of kills,
// orders, victims. .ci/search sets it to a fresh number.
const SeedEnv = "INTERLUDE_SEED"

var drawn = struct {
	sync.Mutex
	*rand.Rand
}{Rand: rand.New(rand.NewPCG(Seed(), 1))}

// Seed returns the number in SeedEnv. The default is 1, so that .ci/run is reproducible.
func Seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv(SeedEnv), 10, 64); err == nil {
		return n
	}
	return 1
}

// N returns a random number from 0 to n-1. It panics if n is not positive. Concurrent callers share one
// sequence, in an order that depends on the scheduler.
func N[Int ~int | ~int64 | ~uint64](n Int) Int {
	drawn.Lock()
	defer drawn.Unlock()
	return Int(drawn.Uint64N(uint64(n)))
}
