//go:build !search

package crash_test

// killed chooses the cases that are played with real processes on a store: one in 31 of a scenario,
// others on another store. They begin at a number that nearly every scenario has, and 31 is prime, so
// that they are of every kind. .ci/search plays all cases, and TestMemory always does.
func killed(store int) func(number int) bool {
	return func(number int) bool { return number%31 == 7+8*store }
}
