// Package proof is a module of checks that are heavier than tests of one package. Each of its
// folders uses the library as its users do, on every store, and searches for a broken promise.
// docs/internals/proof.md describes the checks and their longer forms. The proofs share their
// actors, in package cast, but each decides independently.
//
// It is a separate module because it needs all stores and a few tools on which no host should
// depend.
package proof
