//go:build !search

package crash_test

// killed chooses the cases that are played with real processes on a store: one in sixteen, others
// on another store. .ci/search plays all of them, and TestMemory always does.
func killed(store int) func(number int) bool {
	return func(number int) bool { return number%16 == store }
}
