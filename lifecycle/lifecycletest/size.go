//go:build !race

package lifecycletest

// depth is the number of events up to which every sequence of them is lived.
const depth = 6

// watched says that the race detector watches.
const watched = false
