//go:build race

package lifecycletest

// One life at a time has no races to find, and each costs the race detector ten times as much. CI
// lives the longer ones without it.
const depth = 4
