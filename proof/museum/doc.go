// Command museum shows that the project's checks detect bugs. Each bug is a small patch that breaks
// the library in a way in which real systems were broken, and names a check that must fail with it.
//
//	go run ./proof/museum            # all of them, as a table
//	go run ./proof/museum fence      # the bugs with this word in their names
//
// A bug is a file bugs/NAME.patch: its story, its check ("go test PACKAGE -run PATTERN"), and a
// unified diff against the tree. The diff is applied to copies of the files that it changes, and
// the go command reads the copies instead of the files (-overlay), so the tree is never modified.
// The check must pass without the patch; with it, the check must compile and fail. A patch that no
// longer applies is a failure, too.
//
// Compiling takes most of the time. Bugs that change only the bodies of functions are therefore
// compiled together: a changed function contains both bodies, and an environment variable selects
// the active bug. The few other bugs, in tables and texts of SQL, need a program each.
package main
