// Command mutation changes one token of a package's code at a time (a < becomes <=, an && becomes
// ||, a continue becomes break, …) and checks that a test fails. Gremlins does most of it. The rest
// is done here, because gremlins
//
//   - skips code that Go's coverage does not count (tables, constants, the conditions of cases): it
//     is tried here, one change at a time;
//   - counts a change that does not compile as detected by a test: the type checker finds these
//     changes here, and they are left out.
//
// A change that no test detects needs an explanation in survivors/<package>.txt, and an explanation
// of a change that is detected must be removed. In each package, tests must detect nine of ten
// changes, explained or not.
//
//	cd proof
//	go run ./mutation                                  # all six packages; hours
//	go run ./mutation -packages fsm,slots              # minutes
//	go run ./mutation -packages slots -survivors       # also prints unexplained survivors, in the form of the list
//	go run ./mutation -packages lifecycle -together    # ten minutes of CPU time: one test program has all changes
//	go run ./mutation -packages lifecycle -files wait  # only files named so; only their share is judged
//	go run ./mutation -packages interaction -together -slow LinearTime     # tests to be executed if no other one fails
//	go run ./mutation -packages lifecycle -together -again list   # only the changes that -survivors printed into list
//	go run ./mutation -packages lifecycle/internal/decide -together -also lifecycle:Stories,lifecycle
//	go run ./mutation -packages lifecycle -together -sample 200 -seed 7    # 200 random changes; only they are judged
//
// Compiling takes most of the time. With -together, gremlins only finds the changes. Each operator
// that it would change becomes a call (package chosen); the tests are compiled once, and run once
// for each change, which an environment variable names. A change that a call cannot express, of a
// constant or a text, is tried with a separate program as before. A changed operator keeps its
// operands there: a && b && c becomes (a || b) && c, though the line is printed without brackets.
//
// With -also, a change that the package's own tests do not detect is tried with tests of other
// packages, in the given order. For example, stories test the decisions of package decide.
//
// The changes are made in a copy of the tree, uncommitted files included; the tree itself is not
// modified. GOFLAGS is passed on: GOFLAGS=-short makes it faster. A change that makes a loop
// endless may use gigabytes of memory until its time is up. Use -workers 1 on a small machine.
package main
