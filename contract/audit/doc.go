// Package audit checks FCMP logs of any producer against the contract. Check stops at the first
// violation in a log of this library. Log reports and counts every violation of every run, and can
// accept the deviations of other producers (see Options.Lenient). A Checker judges events one by
// one.
//
// A log has one encoded event per line, of one run or of several interleaved. It is untrusted:
// lines may have any length and content. Memory use depends only on the number of runs: open runs
// (Options.OpenRuns) take a view each, ended ones about a hundred bytes.
//
// The command contract/check is its front end. The package itself does no I/O.
package audit
