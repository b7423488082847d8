//go:build !race

package lifecycletest

// depth is the number of events up to which every sequence of them is lived.
const depth = 6
