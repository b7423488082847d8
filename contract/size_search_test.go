//go:build search

package contract_test

const eachMutant = 1
