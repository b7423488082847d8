// Package frontends proves that the front ends of a host agree while its nodes are killed: the HTTP
// API, the page, links, Go and the command line. A node is a process, on SQLite or on PostgreSQL.
//
//   - People answer one question through all front ends at once, while its deadline comes and its
//     run
//     is canceled: one of them wins, and each of the others learns who has won (L1).
//   - Three nodes run behind a load balancer: every follower sees each event once (L3),
//     and each notice arrives (L4).
//
// The package has only tests. docs/internals/proof.md has their longer forms.
package frontends
