//go:build !race && !search

package contract_test

// eachMutant is the number of mutants per tried one. .ci/search tries all.
const eachMutant = 10
