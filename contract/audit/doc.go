// Package audit holds FCMP logs of any producer against the contract. Check stops at the
// first violation of a log that a store of ours kept. Log goes on: it reports every violation of
// every run, counts, and can forgive a producer what it leaves out or adds (see Options.Lenient).
// Checker judges events one by one, as they come.
//
// A log is one encoded event a line, of one run or of several interleaved. It comes from outside:
// lines may be of any length and hold anything, and neither they nor their number decide what
// memory is taken; only runs that are open at the same time do, up to Options.OpenRuns, and about a
// hundred bytes for each run that has ended.
//
// The command contract/check is made of this package and of package explain. Nothing here does I/O
// of its own.
package audit
