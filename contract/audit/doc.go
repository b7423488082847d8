// Package audit checks FCMP logs of any producer against the contract. Check stops at the first
// violation in a log of this library. Log reports and counts every violation of every run, and can
// accept the deviations of other producers (see Options.Lenient). A Checker judges events one by
// one, as they arrive.
//
// A log has one encoded event per line, of one run or of several interleaved. It is untrusted:
// lines may have any length and content. Memory use depends only on the number of runs: open runs,
// up to Options.OpenRuns, take a view each, and ended runs about a hundred bytes each.
//
// The command contract/check is a front end to this package and package explain. The package does
// no I/O itself.
package audit
