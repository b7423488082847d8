//go:build race

package lifecycletest

// Sequential lives have no races, and each is ten times slower under the race detector. CI runs
// longer ones without it.
const depth = 4
