// Package proof is a module of checks that are heavier than tests of one package: each of its
// folders takes the library as its users get it, on every store, and looks for a promise that it
// breaks. docs/proof.md says what is checked and how to run it for longer.
//
// It is a module of its own because it needs all the stores and a few tools that no host should pay
// for.
package proof
