//go:build !race

package contract_test

// eachMutant is how many mutants there are for each one that is tried.
const eachMutant = 1
