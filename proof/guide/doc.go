// Package guide follows docs/guide.md to the letter: it creates the files that the page shows,
// builds them as a separate module, and executes the page's commands. It has only tests.
package guide
