// Package doors proves that the doors of a host hold together while its nodes are killed. The doors
// are the HTTP API, the page, links, Go and the command line; a node is a process, on SQLite or on
// PostgreSQL.
//
//   - People answer one question through all doors at once, while its deadline comes and somebody
//     cancels its run: one of them wins, and each of the others is told who has won (L1).
//   - Three nodes stand behind a load balancer: whoever follows events sees each event once (L3),
//     and each notice arrives (L4).
//
// The package has only tests. docs/internals/proof.md has their longer forms.
package doors
