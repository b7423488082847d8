//go:build !race

package contract

// eachMutant is how many mutants there are for each one that is tried.
const eachMutant = 1
