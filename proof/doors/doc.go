// Package doors proves what holds for all doors of a host together, while its nodes are killed: one
// question that people answer over the API, on the page, by a link, from Go and on the command line,
// while its deadline comes and somebody cancels its run, has one winner, and each loser is told who
// won (L1); and who follows events through a load balancer over three nodes sees each event once
// (L3), while each notice arrives (L4). The hosts are processes, on SQLite and on PostgreSQL.
//
// It has tests alone. docs/proof.md has its longer forms.
package doors
