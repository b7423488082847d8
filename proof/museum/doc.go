// Command museum shows that the project's checks see: each of its bugs is a small patch that breaks
// the library as real systems have been broken, and names a check that must fail with it.
//
//	go run ./proof/museum            # all of them, as a table
//	go run ./proof/museum fence      # those whose name has this in it
//
// A bug is a file bugs/NAME.patch: its story, its check ("go test PACKAGE -run PATTERN"), and a
// unified diff against the tree. The diff is applied to copies of the files that it changes, which
// the go command is given in place of the real ones (-overlay): the tree is never touched. The
// check must pass without the patch, and with it compile and fail; a patch that fits the tree no
// more is a failure, too.
//
// Compiling takes most of the time, so it is done once for all bugs that change only the bodies of
// functions: such a function gets the changed body beside its own, and an environment variable says
// which bug a program has. The few others, in tables and texts of SQL, have a program each.
package main
