// Command mutation changes one token of a package's code at a time (a < that becomes <=, an && that
// becomes ||, a continue that becomes break, …) and looks whether a test fails. Most of it is done
// by gremlins; the rest here, because gremlins
//
//   - passes over what Go's coverage does not count, tables and constants and the conditions of
//     cases: these are tried here, one by one;
//   - takes a change that does not compile for one that a test has seen: these are found by the
//     type checker, and left out.
//
// A change that no test sees must be explained in survivors/<package>.txt; an explanation of what
// does not survive must go; and nine of ten changes must be seen in each package, explained or not.
//
//	cd proof
//	go run ./mutation                                  # fsm, slots, interaction and lifecycle; hours
//	go run ./mutation -packages fsm,slots              # minutes
//	go run ./mutation -packages slots -survivors       # and what is not explained, as it would stand in the list
//	go run ./mutation -packages lifecycle -together    # ten minutes of a processor: one test program has all changes
//	go run ./mutation -packages lifecycle -files wait  # only the files with this in their name; their share alone is judged
//	go run ./mutation -packages lifecycle -together -sample 200 -seed 7    # 200 random ones; their share alone is judged
//
// Compiling takes most of the time. With -together gremlins only finds the changes; each operator
// that it would change becomes a call (package chosen), the tests are compiled once, and run once
// for each change, which the environment names. What a call cannot stand for, a constant or a text,
// is tried one by one as before.
//
// What is changed is a copy of the tree, with what is not committed yet; the tree is not touched.
// GOFLAGS is passed on: GOFLAGS=-short makes it faster. A change that makes a loop endless may take
// gigabytes of memory before its time is up: with little, use -workers 1.
package main
