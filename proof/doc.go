// Package proof is a module of checks that are heavier than tests of one package. Each of its
// folders uses the library as its users do, on every store, and searches for a broken promise.
// docs/internals/proof.md says what is checked, and how to run the checks for longer. The proofs
// share their actors, which are in package cast. Each decides by itself what is right.
//
// It is a module of its own because it needs all stores and a few tools on which no host should
// depend.
package proof
