// Package audit checks FCMP logs of any producer against the contract. Check stops at the first
// violation of a log that a store of this library kept. Log goes on: it reports and counts every
// violation of every run, and can accept members that another producer leaves out or adds (see
// Options.Lenient). A Checker judges events one by one, as they come.
//
// A log has one encoded event on each line, of one run or of several interleaved. It comes from
// outside: lines may have any length and contain anything. Neither they nor their number determine
// how much memory is used, but the number of runs does: open runs, up to Options.OpenRuns, take a
// view each, and ended runs about a hundred bytes each.
//
// The command contract/check is a front end to this package and package explain. Nothing here does
// I/O of its own.
package audit
