//go:build !race

package contract

// eachMutant is how many mutants there are for each one that is tried.
const eachMutant = 1

// flipStride flips each nth bit. It shares no divisor with 8, so that it comes to each bit of a
// byte.
const flipStride = 61
