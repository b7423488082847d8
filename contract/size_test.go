//go:build !race && !search

package contract_test

// eachMutant is how many mutants there are for each one that is tried. .ci/search tries all.
const eachMutant = 5
