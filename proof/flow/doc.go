// Package flow kills hosts of straight-line agents (engine/flow) with kill -9, on SQLite and PostgreSQL,
// while they execute steps: no step that was kept is executed again, no answer is lost, and each run
// comes to its end. What the steps did is in a file outside of the store.
//
// go test ./proof/flow -args -kills 1000 does it a thousand times. With -wide, the tree of runs that three
// hosts serve has 200 children and 50 questions.
package flow
