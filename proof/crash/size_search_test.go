//go:build search

package crash_test

import "github.com/interlude-go/interlude/internal/sample"

// killed chooses the cases that are played with real processes on a store.
func killed(store int) func(number int) bool {
	return func(number int) bool { return sample.Has(number+store, sample.CrashParts) }
}
